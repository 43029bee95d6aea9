"""The proposals of one photo as a string of bytes, and back without loss.

Boxes that are whole pixels, as those of most sources, take two bytes a coordinate. n boxes.
"""

import struct
import zlib

import numpy as np

from tag2box.proposals.protocol import Proposals

_HEADER = struct.Struct("<IIIBB")  # width, height, n, whether boxes are floats, are scored


def pack(proposals: Proposals, *, width: int, height: int) -> bytes:
    """The proposals and the size of their photo."""
    boxes, scores = proposals.boxes, proposals.scores
    whole = bool(((boxes == np.rint(boxes)) & (boxes >= 0) & (boxes < 2**16)).all())
    body = boxes.astype("<u2" if whole else "<f4").tobytes()
    if scores is not None:
        body += scores.astype("<f4").tobytes()
    header = _HEADER.pack(width, height, len(boxes), not whole, scores is not None)
    return header + zlib.compress(body, level=1)


def unpack(packed: bytes) -> tuple[Proposals, int, int]:
    """What `pack` was given: proposals, width, height."""
    width, height, count, floats, scored = _HEADER.unpack_from(packed)
    body = zlib.decompress(packed[_HEADER.size :])
    kind = np.dtype("<f4" if floats else "<u2")
    boxes = np.frombuffer(body, kind, 4 * count).reshape(count, 4).astype(np.float32)
    if not scored:
        return Proposals(boxes), width, height
    scores = np.frombuffer(body, "<f4", count, offset=4 * count * kind.itemsize)
    return Proposals(boxes, scores.astype(np.float32)), width, height
