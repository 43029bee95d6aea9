from pathlib import Path

import pytest
import torch

from tag2box.errors import InputError
from tag2box.training import checkpoint
from tag2box.training.checkpoint import Checkpoint


def make(step: int) -> Checkpoint:
    weights = {"a.weight": torch.full((3, 2), float(step)), "b": torch.arange(4)}
    return Checkpoint(step, weights, {"momentum": {"a": torch.ones(2)}, "epoch": step})


def test_the_newest_is_loaded_and_the_last_n_kept(tmp_path: Path) -> None:
    assert checkpoint.load_newest(tmp_path) is None
    for step in (5, 10, 200):
        checkpoint.save(tmp_path, make(step), keep=2)
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 200
    torch.testing.assert_close(dict(loaded.weights), dict(make(200).weights), rtol=0, atol=0)
    assert loaded.state["epoch"] == 200
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == ["00000010", "00000200"]


@pytest.mark.parametrize("name", [checkpoint.WEIGHTS, checkpoint.STATE])
@pytest.mark.parametrize("damage", ["cut", "gone", "flipped"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, name: str, damage: str
) -> None:
    for step in (1, 2):
        checkpoint.save(tmp_path, make(step), keep=3)
    path = tmp_path / "checkpoints" / "00000002" / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"\xff" * 64)
    with pytest.warns(UserWarning, match="00000002"):
        loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 1


def test_what_a_killed_writer_left_is_not_a_checkpoint(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, make(1), keep=1)
    left_over = tmp_path / "checkpoints" / ".partial-1234"
    left_over.mkdir()
    (left_over / checkpoint.WEIGHTS).write_bytes(b"half")
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 1
    checkpoint.save(tmp_path, make(2), keep=1)
    assert not left_over.exists()


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(tmp_path, make(1), keep=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(InputError, match="No space left"):
        checkpoint.save(tmp_path, make(2), keep=1)
    loaded = checkpoint.load_newest(tmp_path)
    assert loaded is not None
    assert loaded.step == 1
