from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals.npz import read_npz, write_npz
from tag2box.proposals.protocol import Proposals

GOOD: dict[str, Any] = {
    "ids": np.array(["a", "b", "c"]),
    "count": np.array([1, 0, 2]),
    "boxes": np.arange(12, dtype=np.int16).reshape(3, 4),
}


@pytest.mark.parametrize("step", [1.0, 0.5, -1.0])
@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("counts", [[], [0], [3, 0, 5]])
def test_round_trip(tmp_path: Path, step: float, scored: bool, counts: list[int]) -> None:
    rng = np.random.default_rng(len(counts))
    written = [
        Proposals(
            (rng.integers(0, 500, (n, 4)) * step).astype(np.float32),
            np.sort(rng.random(n).astype(np.float32))[::-1] if scored else None,
        )
        for n in counts
    ]
    ids = [f"photo {i}" for i in range(len(counts))]
    write_npz(tmp_path / "a.npz", ids, written)
    listing = read_npz(tmp_path / "a.npz")
    assert listing.names == ids
    for i, proposals in enumerate(written):
        np.testing.assert_array_equal(listing.proposals(i).boxes, proposals.boxes)
        back = listing.proposals(i).scores
        if scored:
            np.testing.assert_array_equal(back, proposals.scores)
        else:
            assert back is None


def test_the_documented_layout(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **GOOD)
    listing = read_npz(tmp_path / "a.npz")
    assert [listing.proposals(i).boxes.tolist() for i in range(3)] == [
        [[0, 1, 2, 3]],
        [],
        [[4, 5, 6, 7], [8, 9, 10, 11]],
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": None}, "lacks ids"),
        ({"count": np.array([1, 2])}, "count"),
        ({"count": np.array([1, 1, 2])}, "count"),
        ({"count": np.array([4, -1, 0])}, "count"),
        ({"boxes": np.zeros((3, 5))}, "boxes"),
        ({"boxes": np.array([["a"] * 4] * 3)}, "boxes"),
        ({"scores": np.zeros(2)}, "scores"),
        ({"boxes": np.array([[print] * 4] * 3, dtype=object)}, "pickle"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    columns = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    np.savez(tmp_path / "a.npz", **columns)
    with pytest.raises(InputError, match=words):
        read_npz(tmp_path / "a.npz")


def test_broken_files(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", **GOOD)
    content = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(content[: rng.integers(len(content))])
        for at in rng.integers(0, max(1, len(damaged)), 3):
            damaged[at : at + 1] = rng.bytes(1)
        (tmp_path / "a.npz").write_bytes(damaged)
        with pytest.raises(InputError):
            read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"no", b"\x80\x02N."])
def test_nobody_is_told_to_load_a_file_unsafely(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.npz: is no") as refused:
        read_npz(tmp_path / "a.npz")
    assert "allow_pickle" not in str(refused.value)


def test_an_array_that_claims_to_be_huge(tmp_path: Path) -> None:
    import io
    import zipfile

    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        member, {"descr": "<f8", "fortran_order": False, "shape": (2**50, 4)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("ids", "count", "boxes"):
            archive.writestr(f"{name}.npy", member.getvalue())
    with pytest.raises(InputError, match=r"a\.npz"):
        read_npz(tmp_path / "a.npz")
