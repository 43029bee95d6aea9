"""What the frozen part of a detector computes, once for each view of each photo, kept on disk.

The key is the content of the photo, how it is looked at, its proposals where they matter, and the
frozen part with all its weights. The store is the one proposals use; numbers are kept as float16.
"""

from __future__ import annotations

import hashlib
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tag2box.proposals.cache import Store, content_key
from tag2box.training.views import View

_HEADER = struct.Struct("<3I")  # width and height of the photo, axes of the features


class CachedFeatures(NamedTuple):
    """Features of a view, and the size of the photo it is a view of."""

    photo_size: tuple[int, int]
    features: Tensor


@dataclass(frozen=True)
class FeatureCache:
    """Features by view. Full at `limit` bytes: what comes later is computed every time."""

    store: Store
    fingerprint: bytes
    """Of all that the features depend on besides photo, view and proposals."""
    of_regions: bool
    """Whether the features are those of the proposals, and not of the whole map."""
    limit: int

    def key(self, photo: Path, view: View, proposals: npt.NDArray[np.float32]) -> bytes:
        """What features are kept under; proposals are (R, 4) in the photo's pixels."""
        digest = hashlib.sha256(content_key(photo) + self.fingerprint)
        digest.update(f"{view.short_side}{'m' if view.mirrored else ''}".encode())
        if self.of_regions:
            digest.update(np.ascontiguousarray(proposals).tobytes())
        return digest.digest()

    def get(self, key: bytes) -> CachedFeatures | None:
        """The features, or None where they are not known yet."""
        entry = self.store.get(key)
        if entry is None:
            return None
        width, height, axes = _HEADER.unpack_from(entry)
        shape = struct.unpack_from(f"<{axes}I", entry, _HEADER.size)
        numbers = np.frombuffer(entry, np.float16, offset=_HEADER.size + 4 * axes).reshape(shape)
        return CachedFeatures((width, height), torch.from_numpy(numbers.astype(np.float32)))

    def put(self, key: bytes, photo_size: tuple[int, int], features: Tensor) -> None:
        """Keep features of any shape, while there is room."""
        if self.store.bytes_on_disk() >= self.limit:
            warnings.warn(
                f"{self.store.folder} is full: features are computed every time they are needed; "
                "empty it, or raise --training.feature-cache-gigabytes.",
                stacklevel=2,
            )
            return
        numbers = features.detach().to("cpu", torch.float16)
        header = _HEADER.pack(*photo_size, numbers.ndim)
        shape = struct.pack(f"<{numbers.ndim}I", *numbers.shape)
        self.store.put(key, header + shape + numbers.numpy().tobytes())


def as_cached(features: Tensor) -> Tensor:
    """Features as the cache gives them back, so that the first epoch is like the others."""
    return features.to(torch.float16).to(torch.promote_types(features.dtype, torch.float32))


def fingerprint(frozen: nn.Module, *settings: object) -> bytes:
    """A short name for a network with its weights and whatever else decides its features."""
    digest = hashlib.sha256(repr(settings).encode())
    for name, tensor in sorted(frozen.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.digest()
