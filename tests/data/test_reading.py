from pathlib import Path

import pytest
from PIL import Image

from tag2box.data.reading import read_dataset
from tag2box.errors import InputError
from tag2box.recipe import ReadingSettings
from tag2box.structures import Dataset

VOC_MINI = Path(__file__).parents[2].parent / "shared" / "voc-mini"


def folders(root: Path, *names: str) -> Path:
    for grey, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (4, 3), grey).save(path)
    return root


def tags_by_id(dataset: Dataset) -> dict[str, set[str]]:
    return {image.id: {dataset.class_names[tag] for tag in image.tags} for image in dataset}


def test_one_data_set_is_read_as_it_is(tmp_path: Path) -> None:
    root = folders(tmp_path, "dog/a.png", "sheep/b.png")
    assert tags_by_id(read_dataset([root])) == {"dog/a.png": {"dog"}, "sheep/b.png": {"sheep"}}


def test_tags_from_a_file_beside_the_photos(tmp_path: Path) -> None:
    photos = folders(tmp_path / "photos", "a.png", "b.png")
    (tmp_path / "tags.tsv").write_text("a.png\tdog;cat\nb.png\tdog\n")
    dataset = read_dataset([photos], ReadingSettings(tags=tmp_path / "tags.tsv"))
    assert tags_by_id(dataset) == {"a.png": {"cat", "dog"}, "b.png": {"dog"}}


def test_classes_are_united_and_clashing_ids_kept_apart(tmp_path: Path) -> None:
    first = folders(tmp_path / "first", "dog/a.png", "sheep/b.png")
    second = folders(tmp_path / "second", "dog/a.png", "bird/c.png")
    dataset = read_dataset([first, second])
    assert dataset.class_names == ("dog", "sheep", "bird")
    assert tags_by_id(dataset) == {
        "first/dog/a.png": {"dog"},
        "sheep/b.png": {"sheep"},
        "second/dog/a.png": {"dog"},
        "bird/c.png": {"bird"},
    }
    with pytest.raises(InputError, match="named twice"):
        read_dataset([first, first])


def test_a_subset_of_classes_keeps_every_photo(tmp_path: Path) -> None:
    root = folders(tmp_path, "dog/a.png", "sheep/b.png", "bird/c.png")
    dataset = read_dataset([root], ReadingSettings(classes=("sheep", "dog")))
    assert dataset.class_names == ("sheep", "dog")
    assert tags_by_id(dataset)["bird/c.png"] == set()
    with pytest.raises(InputError, match="no class 'shepe'; perhaps 'sheep'"):
        read_dataset([root], ReadingSettings(classes=("shepe",)))


def test_an_image_list_keeps_what_it_names(tmp_path: Path) -> None:
    root = folders(tmp_path / "photos", "dog/a.png", "sheep/b.png")
    (tmp_path / "list.txt").write_text("b.png\n")
    settings = ReadingSettings(image_list=tmp_path / "list.txt")
    assert tags_by_id(read_dataset([root], settings)) == {"sheep/b.png": {"sheep"}}
    (tmp_path / "list.txt").write_text("\n")
    with pytest.raises(InputError, match="holds no photo"):
        read_dataset([root], settings)


@pytest.mark.parametrize(
    "tags", ['{"a.png": ["dog"], "b.png": ["\\ud800"]}', '{"a.png": ["\\ud83d"]}']
)
def test_a_name_that_nothing_can_write_is_refused(tmp_path: Path, tags: str) -> None:
    photos = folders(tmp_path / "photos", "a.png", "b.png")
    (tmp_path / "tags.json").write_text(tags)
    with pytest.raises(InputError, match="is not UTF-8; rename it"):
        read_dataset([photos], ReadingSettings(tags=tmp_path / "tags.json"))


def test_a_photo_whose_name_is_not_utf8_is_refused(tmp_path: Path) -> None:
    try:
        root = folders(tmp_path, "dog/a.png", "dog/caf\udce9.png")
    except (OSError, UnicodeEncodeError):
        pytest.skip("this disk cannot hold the name")
    with pytest.raises(InputError, match=r"caf\\udce9.png' is not UTF-8; rename it"):
        read_dataset([root])


@pytest.mark.skipif(not VOC_MINI.is_dir(), reason="the shared photos are not beside this checkout")
def test_real_voc_is_read_for_its_tags() -> None:
    classes = tuple((VOC_MINI / "classes.txt").read_text().split())
    settings = ReadingSettings(split="val", classes=classes)
    dataset = read_dataset([VOC_MINI], settings)
    assert len(dataset) == 320
    assert dataset.class_names == classes
    assert all(image.path.is_file() for image in dataset)
    assert sum(bool(image.tags) for image in dataset) > 300
