import base64
import io
import os
import pickle
import pickletools
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tag2box.errors import InputError
from tag2box.proposals.pickle_reader import load_plain, read_pickle

BOXES = [np.array([[0, 1, 2, 3], [4, 5, 6, 9]]), np.zeros((0, 4))]

# `{"boxes": [np.array([[0, 0, 4, 9]], dtype=np.float32)], "indexes": [5]}` as Python 2.7 and
# NumPy 1 write it, protocols 0 and 2.
PYTHON_2 = {
    0: (
        b"(dp0\nS'boxes'\np1\n(lp2\ncnumpy.core.multiarray\n_reconstruct\np3\n(cnumpy\nndarray\np4\n"
        b"(I0\ntp5\nS'b'\np6\ntp7\nRp8\n(I1\n(I1\nI4\ntp9\ncnumpy\ndtype\np10\n(S'f4'\np11\nI0\nI1\n"
        b"tp12\nRp13\n(I3\nS'<'\np14\nNNNI-1\nI-1\nI0\ntp15\nbI00\n"
        b"S'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80@\\x00\\x00\\x10A'\np16\ntp17\nba"
        b"sS'indexes'\np18\n(lp19\nI5\nas."
    ),
    2: (
        b"\x80\x02}q\x01(U\x05boxesq\x02]q\x03cnumpy.core.multiarray\n_reconstruct\nq\x04cnumpy\n"
        b"ndarray\nq\x05K\x00\x85U\x01b\x87Rq\x06(K\x01K\x01K\x04\x86cnumpy\ndtype\nq\x07U\x02f4K"
        b"\x00K\x01\x87Rq\x08(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x10"
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80@\x00\x00\x10AtbaU\x07indexesq\x09]q\x0aK\x05au."
    ),
}


def doubled(levels: int) -> list[Any]:
    """A list that holds another twice, which holds another twice: small, and without end."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


def written(folder: Path, content: Any, protocol: int = 2) -> Path:
    path = folder / "proposals.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", ["<f4", ">f8", "i2", "u1", "<i8"])
def test_every_protocol_and_number_type(tmp_path: Path, protocol: int, kind: str) -> None:
    content = {
        "boxes": [np.asfortranarray(boxes.astype(kind)) for boxes in BOXES],
        "indexes": [5, np.int64(2008000002)],
        "scores": [np.array([0.25, 0.75]), np.zeros(0)],
    }
    listing = read_pickle(written(tmp_path, content, protocol))
    assert listing.names == ["5", "2008000002"]
    first = listing.proposals(0)
    assert first.boxes.tolist() == [[4, 5, 7, 10], [0, 1, 3, 4]]  # best first, ends exclusive
    assert first.scores is not None
    assert first.scores.tolist() == [0.75, 0.25]
    assert len(listing.proposals(1)) == 0


@pytest.mark.parametrize("protocol", PYTHON_2)
def test_files_of_python_2(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "old.pkl"
    path.write_bytes(PYTHON_2[protocol])
    listing = read_pickle(path)
    assert listing.names == ["5"]
    assert listing.proposals(0).boxes.tolist() == [[0, 0, 5, 10]]


def test_other_ways_to_hold_the_same(tmp_path: Path) -> None:
    objects = np.empty(2, object)
    objects[:] = BOXES
    for boxes in (objects, tuple(BOXES), [b.tolist() for b in BOXES]):
        content = {"boxes": boxes, "ids": np.array([1, 2]), "scores": []}
        assert len(read_pickle(written(tmp_path, content)).proposals(0)) == 2


@pytest.mark.parametrize(
    "content",
    [
        [1, 2],
        {"boxes": BOXES},
        {"boxes": BOXES, "ids": [1]},
        {"boxes": np.array(1), "ids": [1, 2]},
        {"boxes": {}, "ids": {}},
        {"boxes": BOXES, "ids": [1, None]},
    ],
)
def test_plain_but_no_proposals(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match=r"boxes|by a NoneType"):
        read_pickle(written(tmp_path, content))


@pytest.mark.parametrize("name", [doubled(60), 2**70])
def test_photos_without_a_name(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InputError, match="calls a photo by a"):
        read_pickle(written(tmp_path, {"boxes": BOXES[:1], "ids": [name]}))


def test_scores_without_end_are_none(tmp_path: Path) -> None:
    content = {"boxes": BOXES[:1], "ids": [1], "scores": [doubled(60)]}
    assert read_pickle(written(tmp_path, content)).proposals(0).scores is None


RAGGED = [[1, 2, 3, 4], [1, 2]]


@pytest.mark.parametrize(
    "boxes",
    [np.zeros((2, 3)), np.zeros((1, 4), bool), "a", RAGGED, [["a"] * 4], doubled(60), [10**400]],
)
def test_boxes_that_are_none(tmp_path: Path, boxes: Any) -> None:
    listing = read_pickle(written(tmp_path, {"boxes": [boxes], "ids": [7]}))
    with pytest.raises(InputError, match="has for 7"):
        listing.proposals(0)


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.reduced = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.reduced


def hostile() -> dict[str, bytes]:
    """Pickles that would touch the file `touched` in the working folder, or eat the memory."""
    touch = "open('touched', 'w')"
    dumped = {
        "os.system": Calls(os.system, "touch touched"),
        "eval": Calls(eval, touch),
        "exec": Calls(exec, touch),
        "open": Calls(open, "touched", "w"),
        "import": Calls(__import__, "antigravity"),
        "getattr": Calls(getattr, np.ndarray, "tofile"),
        "a pickle in a pickle": Calls(
            pickle.loads, pickle.dumps(Calls(os.system, "touch touched"))
        ),
        "numpy.load": Calls(np.load, "x", None, True),
        "numpy.fromfile": Calls(np.fromfile, "/dev/zero", "u1", 10),
        "numpy.save": Calls(np.save, "touched", np.zeros(3)),
        "in an array of objects": np.array([Calls(os.system, "touch touched")], object),
        "in a number type": Calls(np.dtype, Calls(eval, touch)),
        "as the shape": Calls(np.empty, (10**12,)),
        "in boxes": {"boxes": [Calls(os.system, "touch touched")], "ids": [1]},
    }
    raw = {
        "a chain of names": b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__class__\x93.",
        "names with dots": b"\x80\x04\x8c\x02os\x8c\x04path\x93.",
        "builtins of a module": b"cnumpy\n__builtins__\n.",
        "numpy.core's eval": b"cnumpy.core.multiarray\n__builtins__\n.",
        "an old class": b"(S'touch touched'\nios\nsystem\n.",
        "an old object": b"(cos\nsystem\nS'touch touched'\no.",
        "a registered extension": b"\x80\x02\x82\x01.",
        "a persistent id": b"Ptouched\n.",
        "an out-of-band buffer": b"\x80\x05\x97.",
        "a state for the class": b"cnumpy\nndarray\n}S'value'\nI1\nsb.",
        "slots for the class": b"cnumpy\ndtype\n(N}S'code'\nS'touched'\nst\x86b.",
        "slots for a function": b"cnumpy.core.multiarray\nscalar\nN}S'__call__'\nI1\ns\x86b.",
        "a class as a call": b"cnumpy\ndtype\n(cnumpy\nndarray\nI1\ntR.",
        "objects behind numbers": (
            b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'O8'\nI0\nI1\ntRS'\\x01\\x02\\x03"
            b"\\x04\\x05\\x06\\x07\\x08'\ntR."
        ),
        "a void type": b"cnumpy\ndtype\n(S'V8'\nI0\nI1\ntR.",
        "a record type": b"cnumpy\ndtype\n(S'i4,O'\nI0\nI1\ntR.",
        "a memo without end": b"\x80\x02K\x01r\xff\xff\xff\xff.",
        "bytes without end": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"a.",
        "a bytearray without end": b"\x80\x05\x96" + struct.pack("<Q", 2**36) + b"a.",
        "a frame without end": b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"N.",
        "a number without end": b"\x8b" + struct.pack("<i", 2**31 - 1) + b"a.",
        "digits without end": b"I" + b"9" * 10_000 + b"\n.",
        "keys that take years to hash": b"\x80\x02)" + b"2\x86" * 60 + b"}2K\x01s.",
        "members that take years to hash": b"\x80\x04\x8f()" + b"2\x86" * 60 + b"\x90.",
        "cut off": pickle.dumps(BOXES)[:-20],
        "empty": b"",
        "no pickle": b"\x89PNG\r\n",
    }
    return {**{name: pickle.dumps(value, 2) for name, value in dumped.items()}, **raw}


# What claims to be endless but holds one value.
PLAIN_AFTER_ALL = {"a memo without end": 1, "a frame without end": None}


@pytest.mark.parametrize("name", hostile())
def test_hostile_pickles(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.chdir(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    if name in PLAIN_AFTER_ALL:
        assert load_plain(io.BytesIO(hostile()[name]), "here") == PLAIN_AFTER_ALL[name]
    else:
        with pytest.raises(InputError, match=r"is no plain pickle \(.+\)"):
            load_plain(io.BytesIO(hostile()[name]), "here")
    assert time.process_time() - start < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kB
    assert not list(tmp_path.iterdir())


def test_one_file_cannot_change_how_the_next_is_read(tmp_path: Path) -> None:
    for content in hostile().values():
        try:
            load_plain(io.BytesIO(content), "here")
        except InputError:
            continue
    assert len(read_pickle(written(tmp_path, {"boxes": BOXES, "ids": [1, 2]})).proposals(0)) == 2


def test_every_short_program_is_refused_or_plain() -> None:
    """Random walks over the machine's instructions never reach anything but plain values."""
    rng = np.random.default_rng(0)
    codes = [op.code.encode("latin-1") for op in pickletools.opcodes if op.arg is None]
    names = [b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", b"cnumpy._core.multiarray\nscalar\n"]
    parts = [*codes, *names, b"K\x01", b"U\x02f4", b"U\x04abcd"]
    for _ in range(3000):
        program = b"\x80\x02" + b"".join(rng.choice(parts, 12).tolist()) + b"."
        try:
            load_plain(io.BytesIO(program), "here")
        except InputError:
            continue


def test_a_known_attack_from_the_wild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attack = base64.b64decode("Y3Bvc2l4CnN5c3RlbQooUyd0b3VjaCB0b3VjaGVkJwp0Ui4=")
    assert b"posix" in attack
    with pytest.raises(InputError, match=r"asks for posix\.system"):
        load_plain(io.BytesIO(attack), "here")
    assert not list(tmp_path.iterdir())
