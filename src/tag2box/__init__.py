"""tag2box: image tags in, object boxes out.

>>> import tag2box
>>> run = tag2box.train("photos/", tags="tags.csv")
>>> for detections in run.predict("new_photos/"):
...     print(detections.image_id, detections.boxes, detections.scores)

Nothing heavy is loaded before a name is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tag2box.api import evaluate, load, read, train
    from tag2box.errors import InputError
    from tag2box.run import Run
    from tag2box.structures import Dataset, Detections, TaggedImage

__all__ = [
    "Dataset",
    "Detections",
    "InputError",
    "Run",
    "TaggedImage",
    "evaluate",
    "load",
    "read",
    "train",
]

_HOMES = {
    "tag2box.api": ("evaluate", "load", "read", "train"),
    "tag2box.errors": ("InputError",),
    "tag2box.run": ("Run",),
    "tag2box.structures": ("Dataset", "Detections", "TaggedImage"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module 'tag2box' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
