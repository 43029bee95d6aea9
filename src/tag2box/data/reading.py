"""Tagged photos from anything: one door for every format. The boxes a format states stay behind."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tag2box.data.formats import Source, sources_of
from tag2box.data.selection import check_classes, ids_kept_apart, listed
from tag2box.data.text import refuse_half_characters
from tag2box.errors import InputError
from tag2box.recipe import ReadingSettings
from tag2box.structures import Dataset


def read_dataset(paths: Sequence[Path], settings: ReadingSettings | None = None) -> Dataset:
    """The photos and tags of one or several data sets.

    Several are joined: their class names united, ids that clash kept apart by the name of their
    folder. Then the image list and the classes of the settings are applied. Raises `InputError`
    for anything that cannot be used.
    """
    settings = settings or ReadingSettings()
    sources = sources_of(paths, settings)
    dataset = join([read_source(s, settings) for s in sources], [s.path for s in sources])
    names = (*dataset.class_names, *(image.id for image in dataset))
    refuse_half_characters(names, _names(paths))
    if settings.image_list is not None:
        ids = [image.id for image in dataset]
        kept = listed(settings.image_list, ids, [image.path for image in dataset])
        dataset = replace(dataset, images=tuple(dataset[index] for index in kept))
    if settings.classes:
        check_classes(settings.classes, dataset.class_names)
        dataset = dataset.keep_classes(settings.classes)
    if not dataset.images:
        raise InputError(_names(paths), "holds no photo", "name a data set that does")
    return dataset


def read_source(source: Source, settings: ReadingSettings) -> Dataset:
    """The photos and tags of one data set, by the reader of its format."""
    path, split, images = source.path, source.split, source.images
    difficult = settings.difficult_makes_tag
    match source.format:
        case "folder":
            from tag2box.data.folder import read_folder

            return read_folder(path, split=split)
        case "table":
            from tag2box.data.table import read_table

            return read_table(path, split=split, images=images)
        case "json":
            from tag2box.data.json_tags import read_json

            return read_json(path, images=images)
        case "labelstudio":
            from tag2box.data.labelstudio import read_labelstudio

            return read_labelstudio(path, images=images)
        case "coco":
            from tag2box.data.coco import read_coco

            return read_coco(path, split=split, images=images, difficult_makes_tag=difficult)
        case "voc":
            from tag2box.data.voc import read_voc

            return read_voc(path, split=split, images=images, difficult_makes_tag=difficult)
        case "yolo":
            from tag2box.data.yolo import read_yolo

            return read_yolo(path, split=split, images=images, difficult_makes_tag=difficult)
        case _:
            from tag2box.data.imagenet_vid import read_imagenet_vid

            return read_imagenet_vid(
                path,
                split=split,
                images=images,
                difficult_makes_tag=difficult,
                key_frames=settings.key_frames,
            )


def join(sets: Sequence[Dataset], paths: Sequence[Path]) -> Dataset:
    """One data set of several; classes in the order in which they first appear."""
    if len(sets) == 1:
        return sets[0]
    names = tuple(dict.fromkeys(name for one in sets for name in one.class_names))
    index = {name: number for number, name in enumerate(names)}
    all_ids = ids_kept_apart([[image.id for image in one] for one in sets], paths)
    images = []
    for one, ids in zip(sets, all_ids, strict=True):
        new = [index[name] for name in one.class_names]
        images += [
            replace(image, id=image_id, tags=frozenset(new[tag] for tag in image.tags))
            for image, image_id in zip(one, ids, strict=True)
        ]
    return Dataset(class_names=names, images=tuple(images))


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(str(path) for path in paths)
