from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tag2box.data.doctor import examine
from tag2box.data.doctor_tags import tag_findings
from tag2box.data.findings import Diagnosis, Finding
from tag2box.structures import Dataset, TaggedImage


def tagged(names: Sequence[str], *rows: str) -> Dataset:
    """Each row has the initials of the classes in a photo that is not there."""
    initials = [name[0] for name in names]
    return Dataset(
        tuple(names),
        tuple(
            TaggedImage(str(i), Path(str(i)), frozenset(initials.index(letter) for letter in row))
            for i, row in enumerate(rows)
        ),
    )


def found(dataset: Dataset, few_photos: int = 3) -> dict[str, Finding]:
    findings = list(tag_findings(dataset, few_photos=few_photos, everywhere=0.95, together=0.95))
    assert len({finding.kind for finding in findings}) == len(findings)
    return {finding.kind: finding for finding in findings}


ANIMALS = ("dog", "sheep")
GOOD = ["d"] * 10 + ["s"] * 10 + ["ds"] * 3 + [""] * 2


def test_good_tags_are_not_complained_of() -> None:
    assert found(tagged(ANIMALS, *GOOD)) == {}


def test_one_class_in_every_photo_cannot_be_learnt() -> None:
    """NVlabs/wetectron#81: 12,000 images, one class in every image, 0.0005 mAP."""
    finding = found(tagged(["dog"], *["d"] * 100))["no-contrast"]
    assert finding.severity == "fatal"
    assert "no tag at all" in finding.remedy
    assert found(tagged(["dog"], *["d"] * 100, *[""] * 20)) == {}


def test_every_class_in_nearly_every_photo_cannot_be_learnt() -> None:
    rows = ["ds"] * 97 + ["d", "s", ""]
    assert found(tagged(ANIMALS, *rows))["no-contrast"].severity == "fatal"


def test_one_of_several_classes_everywhere_is_a_warning() -> None:
    finding = found(tagged(ANIMALS, *["d"] * 10, *["ds"] * 10))["no-contrast"]
    assert finding.severity == "warning"
    assert finding.what == "'dog' is in 100% of the photos"


def test_few_photos() -> None:
    few = found(tagged(("dog", "sheep", "cat"), *GOOD, "c", "c"))["few-photos"]
    assert (few.severity, few.examples) == ("warning", ("cat (2)",))
    assert found(tagged(ANIMALS, "d", "d", "s", ""))["few-photos"].severity == "fatal"
    unused = found(tagged(("dog", "sheep", "cat"), *GOOD))["unused-class"]
    assert (unused.severity, unused.examples) == ("note", ("cat",))


def test_classes_that_always_come_together() -> None:
    always = found(tagged(("dog", "sheep", "cat"), *["ds"] * 10, *["c"] * 10))
    assert "'dog' and 'sheep'" in always["always-together"].what
    alone = found(tagged(ANIMALS, *["ds"] * 10, *["s"] * 10, *[""] * 10))
    assert set(alone) == {"never-alone"}
    assert alone["never-alone"].what == "'dog' hardly ever comes without 'sheep'"


def test_names_written_nearly_alike() -> None:
    rows = ["T"] * 10 + ["t"] * 10
    finding = found(tagged(("Traffic light", "traffic_light"), *rows))["alike-names"]
    assert "'Traffic light' and 'traffic_light'" in finding.what
    assert "alike-names" not in found(tagged(("+", "-"), *["+"] * 9, *["-"] * 9))


def test_lists_in_a_name() -> None:
    assert found(tagged(("dog,cat", "sheep"), *GOOD))["joined-names"].severity == "note"


def noise(path: Path, seed: int, size: tuple[int, int] = (80, 70)) -> Path:
    small = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(path)
    return path


def photos(folder: Path, first_seed: int = 0) -> list[TaggedImage]:
    """Twenty photos, half of them of class 0, half of class 1."""
    folder.mkdir()
    paths = [noise(folder / f"{seed}.png", first_seed + seed) for seed in range(20)]
    return [TaggedImage(path.name, path, frozenset({i % 2})) for i, path in enumerate(paths)]


def diagnosed(images: list[TaggedImage], **keywords: object) -> dict[str, Finding]:
    diagnosis = examine(Dataset(ANIMALS, tuple(images)), few_photos=5, workers=2, **keywords)
    return {finding.kind: finding for finding in diagnosis.findings}


def test_good_photos_are_counted_and_not_complained_of(tmp_path: Path) -> None:
    images = [*photos(tmp_path / "a"), TaggedImage("n", noise(tmp_path / "n.png", 99), frozenset())]
    diagnosis = examine(Dataset(ANIMALS, tuple(images)), few_photos=5)
    assert diagnosis == Diagnosis(21, 1, {"dog": 10, "sheep": 10}, {0: 1, 1: 20}, ())
    assert diagnosis.learnable
    assert diagnosis.to_plain()["learnable"] is True


def test_unreadable_cut_off_and_flat_photos(tmp_path: Path) -> None:
    images = photos(tmp_path / "a")
    images[0].path.write_bytes(b"no photo")
    Image.new("RGB", (80, 70), (9, 9, 9)).save(images[1].path)
    images[2].path.unlink()
    jpeg = noise(tmp_path / "cut.jpg", 77, (300, 300))
    jpeg.write_bytes(jpeg.read_bytes()[:-800])
    images.append(TaggedImage("cut", jpeg, frozenset({0})))
    findings = diagnosed(images)
    assert set(findings) == {"unreadable", "cut-off", "flat"}
    assert findings["unreadable"].what == "2 of 21 photos cannot be read"
    assert findings["unreadable"].severity == "warning"
    assert "--images.unreadable skip" in findings["unreadable"].remedy  # as train calls it
    assert "0.png" in findings["unreadable"].examples[0]
    assert findings["flat"].examples == (str(images[1].path),)
    assert set(diagnosed(images, quick=True)) == {"unreadable"}


def test_mostly_unreadable_photos_cannot_be_learnt_from(tmp_path: Path) -> None:
    images = photos(tmp_path / "a")
    for image in images[:15]:
        image.path.write_bytes(b"no photo")
    assert diagnosed(images)["unreadable"].severity == "fatal"


def test_copies_and_contradictions(tmp_path: Path) -> None:
    images = photos(tmp_path / "a")
    images[2].path.write_bytes(images[0].path.read_bytes())
    images[3].path.write_bytes(images[4].path.read_bytes())
    Image.open(images[5].path).resize((160, 140)).save(images[6].path)
    findings = diagnosed(images)
    assert set(findings) == {"duplicates", "contradiction", "near-duplicates"}
    assert findings["duplicates"].examples == (f"{images[0].path} = {images[2].path}",)
    assert findings["contradiction"].examples == (f"{images[3].path} = {images[4].path}",)
    assert findings["near-duplicates"].examples == (f"{images[5].path} = {images[6].path}",)


def test_photos_in_both_data_sets(tmp_path: Path) -> None:
    images, others = photos(tmp_path / "a"), photos(tmp_path / "b", first_seed=100)
    others[4].path.write_bytes(images[7].path.read_bytes())
    Image.open(images[5].path).resize((160, 140)).save(others[6].path)
    other = Dataset(("sheep", "wolf"), tuple(others))
    findings = diagnosed(images, other=other)
    assert set(findings) == {"overlap", "near-overlap", "unknown-class"}
    assert findings["overlap"].examples == (f"{images[7].path} = {others[4].path}",)
    assert findings["unknown-class"].examples == ("wolf",)


def test_odd_shapes(tmp_path: Path) -> None:
    images = photos(tmp_path / "a")
    noise(images[0].path, 0, (20, 70))
    noise(images[1].path, 1, (500, 90))
    findings = diagnosed(images)
    assert findings["tiny"].examples == (f"{images[0].path} (20 x 70)",)
    assert findings["long"].examples == (f"{images[1].path} (500 x 90)",)


@pytest.mark.parametrize("count", [1, 2])
def test_the_smallest_sets_have_a_diagnosis(tmp_path: Path, count: int) -> None:
    images = photos(tmp_path / "a")[:count]
    assert diagnosed(images)["few-photos"].severity == "fatal"
