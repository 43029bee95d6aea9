"""Sources of proposals by the name a user gives: ours, or any function of an importable module."""

import functools
import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tag2box.data.images import read_image
from tag2box.errors import InputError
from tag2box.proposals.packing import pack
from tag2box.proposals.protocol import AnySource, as_proposals

# Name -> module, function and version of the boxes. A change of the code that changes a box needs
# a new version, or the caches of users keep serving the old boxes.
BUILT_IN = {
    "selective-search": ("tag2box.proposals.selective_search", "selective_search", 2),
    "edges": ("tag2box.proposals.edges", "edge_boxes", 1),
    "grid": ("tag2box.proposals.grid", "grid", 1),
}
_REMEDY = f"use one of {', '.join(BUILT_IN)}, file:PATH or package.module:function"


class UnreadablePhoto(InputError):
    """The photo is at fault, not the source; a user may have asked to skip it."""


@dataclass(frozen=True)
class Source:
    """A source that a worker process can rebuild from its name and settings."""

    name: str
    """As on the command line: `selective-search`, `my_module:propose`."""
    version: str
    """Of its code: another version may give other boxes."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of its function."""
    given: AnySource | None = None
    """The function itself, where it has no name another process could import it by."""

    @property
    def identity(self) -> str:
        """All that the boxes of a photo depend on, besides the photo."""
        return json.dumps([self.name, self.version, dict(self.settings)], sort_keys=True)

    @functools.cached_property
    def function(self) -> AnySource:
        """The function, imported when first needed: numba and users' modules load slowly."""
        if self.given is not None:
            return self.given
        module, function = _module_and_function(self.name)
        found = getattr(_imported(module, self.name), function, None)
        if not callable(found):
            raise InputError(self.name, f"{module} has no function {function}", _REMEDY)
        return functools.partial(found, **self.settings)

    def packed_boxes(self, path: Path, *, max_megapixels: float) -> bytes:
        """The proposals of a photo, checked and packed for the store."""
        try:
            image = read_image(path, max_megapixels=max_megapixels)
        except InputError as error:
            raise UnreadablePhoto.from_sentence(str(error)) from None
        height, width = image.shape[:2]
        where = f"{self.name} on {path}"
        try:
            result = self.function(image)
        except InputError:
            raise
        except Exception as error:
            problem = f"failed ({type(error).__name__}: {error})"
            raise InputError(where, problem, "mend the function or leave the photo out") from error
        return pack(as_proposals(result, height, width, where), width=width, height=height)


def source_named(name: str, **settings: Any) -> Source:
    """The source of that name; settings are keywords of its function."""
    if name in BUILT_IN:
        return Source(name, str(BUILT_IN[name][2]), settings)
    module, _ = _module_and_function(name)
    return Source(name, _digest_of_module(module, name), settings)


def source_from(function: AnySource) -> Source:
    """A function as a source.

    One that can be imported by its name is the same as that name. Any other (a lambda, a method, a
    function of the main script) has no version: it runs in this process and its boxes are not kept.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    imported = sys.modules.get(module or "")
    if module != "__main__" and getattr(imported, name, None) is function:
        return source_named(f"{module}:{name}")
    return Source(f"function:{name or type(function).__name__}", "", given=function)


def _module_and_function(name: str) -> tuple[str, str]:
    if name in BUILT_IN:
        return BUILT_IN[name][:2]
    module, colon, function = name.partition(":")
    if not colon or not function.isidentifier() or not module.replace(".", "_").isidentifier():
        raise InputError(name, "is not a source of proposals", _REMEDY)
    return module, function


def _digest_of_module(module: str, name: str) -> str:
    """Changes with the file the function stands in, so that nobody is served the boxes of before.

    Files it imports in turn are not looked at.
    """
    _see_working_folder()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise InputError(name, f"there is no module {module}", f"check the name; {_REMEDY}")
    return _digest(Path(spec.origin)) if spec.origin and Path(spec.origin).is_file() else ""


@functools.cache
def _digest(path: Path) -> str:
    """Read once a process: when the file is changed afterwards, the code in use is the old one."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _imported(module: str, name: str) -> Any:
    _see_working_folder()
    try:
        return importlib.import_module(module)
    except Exception as error:
        problem = f"cannot be imported ({type(error).__name__}: {error})"
        raise InputError(name, problem, "mend the module") from error


def _see_working_folder() -> None:
    """A module beside the photos is found, as with `python -m`; installed ones come first."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
