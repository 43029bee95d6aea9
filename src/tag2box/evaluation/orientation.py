"""True boxes moved into the frame a viewer shows, as everything that looks at photos here uses."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.boxes import orient
from tag2box.data.annotations import Annotations
from tag2box.data.images import image_size, stored_orientation


def as_shown(
    annotations: Annotations,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Sizes (N, 2) and boxes (M, 4) of the photos as shown, EXIF orientation applied.

    Some tools annotate the pixels as they are stored, others the photo as it is shown. The size
    the file states tells which, wherever the two sizes differ; where they do not (a half turn, a
    mirror, a square) the file is taken to mean the stored pixels. A file that states no size is
    taken to mean what a viewer shows. A photo that is not there is left alone.
    """
    sizes, boxes = annotations.sizes.copy(), annotations.boxes.copy()
    for image, path in enumerate(annotations.paths):
        orientation = stored_orientation(path) if path.is_file() else 1
        if orientation == 1:
            continue
        width, height = _stored_size(path, orientation)
        if tuple(sizes[image]) != (width, height):
            continue
        first, end = np.searchsorted(annotations.object_image, [image, image + 1])
        boxes[first:end] = orient(boxes[first:end], orientation, width, height)
        if orientation >= 5:
            sizes[image] = height, width
    return sizes, boxes


def _stored_size(path: Path, orientation: int) -> tuple[int, int]:
    width, height = image_size(path)
    return (height, width) if orientation >= 5 else (width, height)
