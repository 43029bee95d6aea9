"""Where the objects of a data set are: what detections are scored against, and nothing else sees.

Boxes are xyxy, continuous, 0-based, x2/y2 exclusive, in pixels of the photo as a viewer shows it
(EXIF orientation applied). N images, M objects, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tag2box.data.annotations import Annotations
from tag2box.data.formats import BOXED, Source, sources_of
from tag2box.data.selection import check_classes, ids_kept_apart, listed
from tag2box.errors import InputError
from tag2box.evaluation.orientation import as_shown
from tag2box.recipe import ReadingSettings


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """The objects of a data set, column by column, ascending by image."""

    class_names: tuple[str, ...]
    image_ids: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    """(N, 2) width and height as shown; 0 where the file states none."""
    object_image: npt.NDArray[np.int64]
    """(M,) which image an object is in, ascending."""
    boxes: npt.NDArray[np.float64]
    """(M, 4)."""
    classes: npt.NDArray[np.int64]
    """(M,) indexes into `class_names`."""
    difficult: npt.NDArray[np.bool_]
    """(M,) Pascal VOC's flag: hard to recognise, neither rewarded nor punished."""
    crowd: npt.NDArray[np.bool_]
    """(M,) COCO's flag: a group in one box."""
    areas: npt.NDArray[np.float64]
    """(M,) of the object's mask where the file states it, else of its box; small to large by it."""
    category_ids: tuple[int, ...] | None = None
    """(C,) the numbers a COCO file gives its classes."""

    def __post_init__(self) -> None:
        count = len(self.classes)
        assert self.sizes.shape == (len(self.image_ids), 2)
        assert self.boxes.shape == (count, 4), f"boxes are ({count}, 4), not {self.boxes.shape}"
        for column in (self.object_image, self.difficult, self.crowd, self.areas):
            assert column.shape == (count,), f"a column is ({count},), not {column.shape}"
        assert np.all(np.diff(self.object_image) >= 0), "objects are ascending by image"
        assert self.category_ids is None or len(self.category_ids) == len(self.class_names)

    @classmethod
    def from_annotations(cls, annotations: Annotations) -> GroundTruth:
        """The objects of an annotation file, moved into the frame a viewer shows."""
        sizes, boxes = as_shown(annotations)
        return cls(
            class_names=annotations.class_names,
            image_ids=annotations.image_ids,
            sizes=sizes,
            object_image=annotations.object_image,
            boxes=boxes,
            classes=annotations.classes,
            difficult=annotations.difficult,
            crowd=annotations.crowd,
            areas=annotations.areas,
            category_ids=annotations.category_ids,
        )

    def __len__(self) -> int:
        return len(self.image_ids)

    def numbers(self) -> dict[str, int]:
        """The number of each class in a results file: the COCO file's own, else 1, 2, ..."""
        numbers = self.category_ids or range(1, len(self.class_names) + 1)
        return dict(zip(self.class_names, numbers, strict=True))

    def keep_classes(self, names: Sequence[str]) -> GroundTruth:
        """The same images with only the named classes, renumbered in the order of `names`."""
        old = [self.class_names.index(name) for name in names]
        new_index = np.full(len(self.class_names), -1, np.int64)
        new_index[old] = np.arange(len(old))
        kept = self._objects(new_index[self.classes] >= 0, self.object_image)
        return replace(
            kept,
            class_names=tuple(names),
            classes=new_index[kept.classes],
            category_ids=self.category_ids and tuple(self.category_ids[i] for i in old),
        )

    def select(self, image_ids: Sequence[str]) -> GroundTruth:
        """Only the named images, in the order of `image_ids`."""
        position = {image_id: i for i, image_id in enumerate(self.image_ids)}
        old = np.array([position[image_id] for image_id in image_ids], dtype=np.int64)
        new_index = np.full(len(self), -1, np.int64)
        new_index[old] = np.arange(len(old))
        images = new_index[self.object_image]
        order = np.argsort(images, kind="stable")
        order = order[images[order] >= 0]
        kept = self._objects(order, images)
        return replace(kept, image_ids=tuple(image_ids), sizes=self.sizes[old])

    def boxes_by_image(self, *, difficult: bool = True) -> list[npt.NDArray[np.float64]]:
        """The boxes of each image, (M_i, 4) each, without crowds."""
        keep = ~self.crowd if difficult else ~(self.crowd | self.difficult)
        ends = np.searchsorted(self.object_image[keep], np.arange(1, len(self)))
        return np.split(self.boxes[keep], ends)[: len(self)]

    def _objects(
        self,
        keep: npt.NDArray[np.bool_] | npt.NDArray[np.int64],
        object_image: npt.NDArray[np.int64],
    ) -> GroundTruth:
        """The objects a mask or an index array chooses, in the images given for all of them."""
        return replace(
            self,
            object_image=object_image[keep],
            boxes=self.boxes[keep],
            classes=self.classes[keep],
            difficult=self.difficult[keep],
            crowd=self.crowd[keep],
            areas=self.areas[keep],
        )


def read_ground_truth(
    paths: Sequence[Path], settings: ReadingSettings | None = None
) -> GroundTruth:
    """The objects of one or several boxed data sets.

    The images have the ids `tag2box.data.reading.read_dataset` gives them, and the settings choose
    among them in the same way; a photo itself need not be there. Raises `InputError`.
    """
    settings = settings or ReadingSettings()
    sources = sources_of(paths, settings)
    sets = [_parse(source, settings) for source in sources]
    all_ids = ids_kept_apart([s.image_ids for s in sets], [source.path for source in sources])
    truth = join(
        [
            replace(GroundTruth.from_annotations(annotations), image_ids=tuple(ids))
            for annotations, ids in zip(sets, all_ids, strict=True)
        ]
    )
    if settings.image_list is not None:
        photos = [path for annotations in sets for path in annotations.paths]
        kept = listed(settings.image_list, truth.image_ids, photos)
        truth = truth.select([truth.image_ids[index] for index in kept])
    if settings.classes:
        check_classes(settings.classes, truth.class_names)
        truth = truth.keep_classes(settings.classes)
    return truth


def _parse(source: Source, settings: ReadingSettings) -> Annotations:
    """What one data set states, by the parser of its format."""
    path, split, images = source.path, source.split, source.images
    match source.format:
        case "coco":
            from tag2box.data.coco import parse_coco

            return parse_coco(path, split=split, images=images)
        case "voc":
            from tag2box.data.voc import parse_voc

            return parse_voc(path, split=split, images=images)
        case "yolo":
            from tag2box.data.yolo import parse_yolo

            return parse_yolo(path, split=split, images=images)
        case "imagenet-vid":
            from tag2box.data.imagenet_vid import parse_imagenet_vid

            frames = settings.key_frames
            return parse_imagenet_vid(path, split=split, images=images, key_frames=frames)
    remedy = f"name a data set with boxes: {', '.join(sorted(BOXED))}"
    raise InputError(path, f"states tags and no boxes ({source.format})", remedy)


def join(truths: Sequence[GroundTruth]) -> GroundTruth:
    """Several data sets as one (07+12): images one after the other, class names united.

    Category ids survive where all data sets have the same classes with the same ids.
    """
    kinds = {(truth.class_names, truth.category_ids) for truth in truths}
    names = tuple(dict.fromkeys(name for truth in truths for name in truth.class_names))
    image_ids = tuple(image_id for truth in truths for image_id in truth.image_ids)
    assert len(set(image_ids)) == len(image_ids), "ids are unique"
    first_image = np.cumsum([0, *(len(truth) for truth in truths)])
    new_index = [np.array([names.index(n) for n in t.class_names], np.int64) for t in truths]
    return GroundTruth(
        class_names=names,
        image_ids=image_ids,
        sizes=np.concatenate([t.sizes for t in truths]),
        object_image=np.concatenate(
            [t.object_image + first for t, first in zip(truths, first_image, strict=False)]
        ),
        boxes=np.concatenate([t.boxes for t in truths]),
        classes=np.concatenate([new[t.classes] for t, new in zip(truths, new_index, strict=True)]),
        difficult=np.concatenate([t.difficult for t in truths]),
        crowd=np.concatenate([t.crowd for t in truths]),
        areas=np.concatenate([t.areas for t in truths]),
        category_ids=kinds.pop()[1] if len(kinds) == 1 else None,
    )
