import numpy as np
import pytest
import torch

from tag2box.box_coding import decode
from tag2box.data.transforms import resize
from tag2box.inference.passes import Pass, averaged, passes_of
from tag2box.models.detector import Detector

WIDTH, HEIGHT = 64, 48


def test_all_sizes_mirrored_too_or_the_middle_one() -> None:
    sides = (480, 576, 688, 864, 1000, 1200)
    every = passes_of(sides, every=True, mirror=True)
    assert len(every) == 12
    assert {(one.short_side, one.mirrored) for one in every} == {
        (side, flag) for side in sides for flag in (False, True)
    }
    assert passes_of(sides, every=True, mirror=False) == tuple(Pass(side) for side in sides)
    assert passes_of(sides, every=False, mirror=True) == (Pass(688),)
    assert passes_of((240, 160, 240), every=False, mirror=True) == (Pass(160),)


def scene(regions: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    low = random.random((regions, 2)) * [40, 28]
    boxes = np.concatenate([low, low + 4 + random.random((regions, 2)) * [20, 16]], axis=1)
    return pixels, boxes.astype(np.float32)


def tensor(pixels: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def slow_average(
    detector: Detector, pixels: np.ndarray, boxes: np.ndarray, passes: list[tuple[int, int, bool]]
) -> tuple[np.ndarray, np.ndarray]:
    """Photos and boxes turned by hand, the whole detector in one piece, back by hand, the mean."""
    classes = detector.heads.num_classes
    scores = np.zeros((2, len(boxes), classes))  # of two students
    found = np.zeros((len(boxes), classes, 4))
    for height, width, mirrored in passes:
        seen = resize(pixels, height, width)
        seen = seen[:, ::-1] if mirrored else seen
        x, y = width / WIDTH, height / HEIGHT
        regions = []
        for x1, y1, x2, y2 in boxes.astype(float):
            x1, x2 = ((WIDTH - x2), (WIDTH - x1)) if mirrored else (x1, x2)
            regions.append([x1 * x, y1 * y, x2 * x, y2 * y])
        proposals = torch.tensor(np.reshape(regions, (-1, 4)), dtype=torch.float32)
        with torch.no_grad():
            outputs = detector(detector.pixels.normalise(tensor(seen)), proposals)
        for r in range(len(boxes)):
            for c in range(classes):
                logits = outputs.student_logits[:, r]
                scores[:, r, c] += logits.softmax(1)[:, c + 1].numpy() / len(passes)
                deltas = outputs.student_deltas[:, r].view(-1, classes + 1, 4)[:, c + 1].mean(0)
                x1, y1, x2, y2 = decode(deltas, proposals[r]).tolist()
                x1, x2 = (min(max(v, 0), width) / x for v in (x1, x2))
                y1, y2 = (min(max(v, 0), height) / y for v in (y1, y2))
                x1, x2 = ((WIDTH - x2), (WIDTH - x1)) if mirrored else (x1, x2)
                found[r, c] += np.array([x1, y1, x2, y2]) / len(passes)
    return scores, found


@pytest.mark.parametrize("regions", [0, 1, 9])
@pytest.mark.parametrize(
    "passes",
    [
        [(48, 64, False)],
        [(36, 48, True)],
        [(36, 48, False), (36, 48, True), (72, 95, False), (72, 95, True)],
    ],
)
def test_mean_of_passes_equals_a_slow_loop(
    detector: Detector, regions: int, passes: list[tuple[int, int, bool]]
) -> None:
    pixels, boxes = scene(regions, seed=regions)
    scores, found = averaged(
        detector,
        [tensor(resize(pixels, height, width)) for height, width, _ in passes],
        [mirrored for *_, mirrored in passes],
        boxes,
        width=WIDTH,
        height=HEIGHT,
        regions_per_batch=4,
    )
    expected_scores, expected_boxes = slow_average(detector, pixels, boxes, passes)
    assert scores.shape == (2, regions, 3)
    assert found.shape == (regions, 3, 4)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-5)
    np.testing.assert_allclose(found, expected_boxes, atol=1e-3)


def test_a_mirrored_photo_gives_mirrored_boxes_with_the_same_scores(detector: Detector) -> None:
    pixels, boxes = scene(9)
    sizes = {"width": WIDTH, "height": HEIGHT, "regions_per_batch": 100}
    scores, found = averaged(detector, [tensor(pixels)] * 2, [False, True], boxes, **sizes)
    mirrored = boxes.copy()
    mirrored[:, [0, 2]] = WIDTH - boxes[:, [2, 0]]
    other_scores, other = averaged(
        detector, [tensor(pixels[:, ::-1])] * 2, [True, False], mirrored, **sizes
    )
    other[..., [0, 2]] = WIDTH - other[..., [2, 0]]
    np.testing.assert_allclose(scores, other_scores, atol=1e-5)
    np.testing.assert_allclose(found, other, atol=1e-4)


def test_looking_twice_from_the_mirror_is_looking_at_the_mirrored_pixels(
    detector: Detector,
) -> None:
    """The mirrored pass is bit for bit a plain pass over the mirrored photo, turned back."""
    pixels, boxes = scene(7)
    boxes = np.round(boxes)  # so that mirroring them back and forth is exact
    sizes = {"width": WIDTH, "height": HEIGHT, "regions_per_batch": 100}
    mirrored = boxes.copy()
    mirrored[:, [0, 2]] = WIDTH - boxes[:, [2, 0]]
    scores, found = averaged(detector, [tensor(pixels)], [True], boxes, **sizes)
    expected_scores, expected = averaged(
        detector, [tensor(pixels[:, ::-1])], [False], mirrored, **sizes
    )
    assert torch.equal(scores, expected_scores)
    expected[..., [0, 2]] = WIDTH - expected[..., [2, 0]]
    assert torch.equal(found, expected)


@pytest.mark.parametrize("per_batch", [1, 4, 9, 500])
def test_sub_batches_change_nothing(detector: Detector, per_batch: int) -> None:
    pixels, boxes = scene(9)
    sizes = {"width": WIDTH, "height": HEIGHT}
    whole = averaged(detector, [tensor(pixels)], [False], boxes, **sizes, regions_per_batch=9)
    parts = averaged(
        detector, [tensor(pixels)], [False], boxes, **sizes, regions_per_batch=per_batch
    )
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other)
        assert not other.requires_grad
