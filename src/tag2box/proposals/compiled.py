"""The loops that numpy cannot do: compiled by numba, kept on disk, run without the GIL.

No fast maths: the same photo gives the same boxes on every machine. Numba renews what it kept when
the file of a function changes, not when a function or constant it took from another file does:
whoever changes one of those removes __pycache__.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """The function as machine code, compiled at its first call."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no folder can be written to: compiled anew by every process
        return cast(Function, numba.njit(nogil=True)(function))
