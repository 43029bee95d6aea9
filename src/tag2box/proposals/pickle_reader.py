"""Proposals in a pickle, as the reference implementation keeps them; nothing in it is executed.

The file is a dict: `boxes` a list of (n, 4) x1, y1, x2, y2, 0-based with the last pixel included;
`indexes` or `ids` a list of numbers or names of the photos; `scores`, optional, a list of (n,).

A pickle is a program that may call anything it can name. This reader lets it name only what NumPy
arrays are made of, and gives it stand-ins for those, so that not even NumPy's own code for
restoring arrays runs on what the file says.
"""

import math
import pickle
import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
import numpy.typing as npt

from tag2box.errors import InputError
from tag2box.proposals.listing import Listing, four_columns, from_xyxy_inclusive, ranked
from tag2box.proposals.protocol import Proposals

_NUMBERS = re.compile(r"[|<>=]?(b1|[iu][1248]|f[248])")


def read_pickle(path: Path) -> Listing:
    """The proposals of a .pkl file, of Python 2 or 3."""
    with path.open("rb") as file:
        content = load_plain(file, path)
    remedy = "give a dict with `boxes` and `indexes` (or `ids`), lists of the same length"
    if not isinstance(content, dict):
        raise InputError(path, f"holds a {type(content).__name__}", remedy)
    boxes, scores = _sequence(content.get("boxes")), _sequence(content.get("scores"))
    ids = _sequence(content.get("indexes", content.get("ids")))
    if boxes is None or ids is None or len(boxes) != len(ids):
        keys = ", ".join(key for key in content if isinstance(key, str))
        raise InputError(path, f"has the keys {keys}", remedy)
    if scores is not None and len(scores) != len(boxes):
        scores = None
    names = [_name(entry, path) for entry in ids]

    def proposals(index: int) -> Proposals:
        raw = four_columns(_rows(boxes[index]), path, names[index])
        return ranked(from_xyxy_inclusive(raw), None if scores is None else _numbers(scores[index]))

    return Listing(path, names, proposals)


def load_plain(file: IO[bytes], where: object) -> Any:
    """The lists, dicts, strings and numbers of a pickle; arrays as stand-ins, tuples as lists."""
    try:
        return _PlainUnpickler(file, encoding="latin1").load()
    except Exception as error:  # a hostile or broken file makes the machine raise almost anything
        remedy = "give one that holds only lists, dicts, numbers and arrays of numbers"
        reason = str(error) or "it ends too early"
        raise InputError(where, f"is no plain pickle ({reason})", remedy) from None


def _as_list(load: Callable[[Any], None]) -> Callable[[Any], None]:
    """That instruction for a tuple, which leaves a list.

    A list can be no key. A tuple could, and one that holds another twice, which holds another
    twice, and so on for a hundred bytes, takes years to hash.
    """

    def loaded(machine: Any) -> None:
        load(machine)
        machine.stack[-1] = list(machine.stack[-1])

    return loaded


_SETS = (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET)
_TUPLES = (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3, pickle.TUPLE)
_UNPICKLER = pickle._Unpickler.dispatch  # instructions by code


# The machine in Python, not the one in C: that one can be made to allocate memory without end.
class _PlainUnpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _ALLOWED[module, name]

    def load_bytearray8(self) -> None:
        """Bytes that are there, where Python's own makes room for as many as the file claims."""
        machine: Any = self  # the names below are known to Python, not to the type checker
        machine.append(machine.read(*struct.unpack("<Q", machine.read(8))))

    dispatch: ClassVar[dict[int, Any]] = {
        **{code: load for code, load in _UNPICKLER.items() if bytes([code]) not in _SETS},
        **{code[0]: _as_list(_UNPICKLER[code[0]]) for code in _TUPLES},
        pickle.BYTEARRAY8[0]: load_bytearray8,
    }


class _Kind:
    """Stands in for `numpy.dtype`."""

    __slots__ = ("code",)

    def __init__(self, code: str, *_: object) -> None:
        if _NUMBERS.fullmatch(code) is None and code not in ("O", "O8", "|O"):
            raise pickle.UnpicklingError(f"it asks for the number type {code!r}")
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] in ("<", ">"):
            self.code = state[1] + self.code.lstrip("|<>=")

    def array(self, raw: object, count: int) -> npt.NDArray[Any]:
        content = raw.encode("latin-1") if isinstance(raw, str) else raw
        if not isinstance(content, bytes | bytearray):
            raise pickle.UnpicklingError("it has an array without content")
        return np.frombuffer(bytes(content), np.dtype(self.code), count)


class _Array:
    """Stands in for `numpy.ndarray`; an array of objects is a list."""

    __slots__ = ("value",)

    def __init__(self, *_: object) -> None:
        self.value: npt.NDArray[Any] | list[Any] = []

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, kind, columns_first, raw = state[-4:]
        self.fill(raw, kind, shape, "F" if columns_first else "C")

    def fill(self, raw: object, kind: _Kind, shape: Sequence[int], order: str) -> None:
        if "O" in kind.code:
            self.value = list(raw) if isinstance(raw, list) else []
        else:
            numbers = kind.array(raw, math.prod(shape))
            self.value = numbers.reshape(shape, order="F" if order == "F" else "C")


class _Reconstruct:
    """Stands in for NumPy's function that makes an empty array, to be filled by its state."""

    __slots__ = ()

    def __call__(self, *_: object) -> _Array:
        return _Array()


class _FromBuffer:
    """Stands in for NumPy's function that makes an array of protocol 5."""

    __slots__ = ()

    def __call__(self, raw: object, kind: _Kind, shape: Sequence[int], order: str) -> _Array:
        array = _Array()
        array.fill(raw, kind, shape, order)
        return array


class _Scalar:
    """Stands in for NumPy's function that makes a single number."""

    __slots__ = ()

    def __call__(self, kind: _Kind, raw: object) -> Any:
        return kind.array(raw, 1)[0].item()


class _Encode:
    """Stands in for `_codecs.encode`, by which Python 3 writes bytes for Python 2."""

    __slots__ = ()

    def __call__(self, text: str, encoding: str = "latin1") -> bytes:
        if encoding != "latin1":
            raise pickle.UnpicklingError(f"it asks for the encoding {encoding!r}")
        return text.encode("latin-1")


class _NoBytes:
    """Stands in for `bytes`, by which Python 3 writes an empty one for Python 2."""

    __slots__ = ()

    def __call__(self) -> bytes:
        return b""


_ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("_codecs", "encode"): _Encode(),
    ("__builtin__", "bytes"): _NoBytes(),
    ("numpy", "dtype"): _Kind,
    ("numpy", "ndarray"): _Array,
}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_core}.multiarray", "_reconstruct"] = _Reconstruct()
    _ALLOWED[f"{_core}.multiarray", "scalar"] = _Scalar()
    _ALLOWED[f"{_core}.numeric", "_frombuffer"] = _FromBuffer()


def _value(entry: object) -> object:
    return entry.value if isinstance(entry, _Array) else entry


def _sequence(entry: object) -> Sequence[Any] | npt.NDArray[Any] | None:
    value = _value(entry)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return None
    return value if isinstance(value, list | tuple | np.ndarray) else None


def _numbers(entry: object) -> npt.NDArray[Any] | None:
    """An array, or a list of numbers as one; None for anything deeper, which may have no end."""
    value = _value(entry)
    if isinstance(value, list) and all(isinstance(number, int | float) for number in value):
        return np.asarray(value)
    return value if isinstance(value, np.ndarray) else None


def _rows(entry: object) -> npt.NDArray[Any] | None:
    """An array, or a list of rows of numbers as one."""
    value = _value(entry)
    if not isinstance(value, list) or not value:
        return _numbers(entry)
    rows = [row for row in map(_numbers, value) if row is not None and row.ndim == 1]
    fit = len(rows) == len(value) and len({len(row) for row in rows}) == 1
    return np.stack(rows) if fit else None


def _name(entry: object, where: Path) -> str:
    value = _value(entry)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size == 1):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) or (isinstance(value, int) and value.bit_length() <= 64):
        return str(value)
    problem = f"calls a photo by a {type(value).__name__}"
    raise InputError(where, problem, "give the photos by name or number")
