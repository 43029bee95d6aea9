import dataclasses

import numpy as np
import pytest
import torch

from oracle import learning as slow
from tag2box.inference.scores import class_boxes, class_scores, disagreement, student_scores
from tag2box.learning.image_scores import region_scores
from tag2box.models.outputs import Outputs


def random_outputs(rng, regions, students):
    return Outputs(
        torch.from_numpy(rng.normal(size=(regions, 4))),
        torch.from_numpy(rng.normal(size=(regions, 4))),
        torch.from_numpy(rng.normal(size=(students, regions, 4))),
        torch.from_numpy(rng.normal(size=(students, regions, 16))),
    )


def slow_decode(deltas, box):
    width, height = box[2] - box[0], box[3] - box[1]
    x = (box[0] + box[2]) / 2 + deltas[0] / 10 * width
    y = (box[1] + box[3]) / 2 + deltas[1] / 10 * height
    width, height = width * np.exp(deltas[2] / 5), height * np.exp(deltas[3] / 5)
    corners = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])
    return np.clip(corners, 0, [30, 20, 30, 20])


@pytest.mark.parametrize("regions", [0, 1, 6])
@pytest.mark.parametrize("students", [1, 3])
def test_mean_over_the_students(regions, students):
    rng = np.random.default_rng(regions)
    outputs = random_outputs(rng, regions, students)
    low = rng.random((regions, 2)) * 10
    boxes = torch.from_numpy(np.concatenate([low, low + 3 + rng.random((regions, 2)) * 9], axis=1))
    scores = class_scores(outputs)
    found = class_boxes(outputs, boxes, width=30, height=20)
    assert scores.shape == (regions, 3)
    assert found.shape == (regions, 3, 4)
    for r in range(regions):
        rows = [slow.softmax(student[r].tolist()) for student in outputs.student_logits]
        np.testing.assert_allclose(scores[r], np.mean(rows, axis=0)[1:])
        deltas = outputs.student_deltas[:, r].mean(dim=0).view(4, 4).tolist()
        for c in range(3):
            expected = slow_decode(deltas[c + 1], boxes[r].tolist())
            np.testing.assert_allclose(found[r, c], expected)


def test_without_students_the_two_streams_score_the_proposals():
    outputs = random_outputs(np.random.default_rng(0), 5, 3)
    outputs = dataclasses.replace(
        outputs, student_logits=outputs.student_logits[:0], student_deltas=None
    )
    expected = region_scores(outputs.class_logits, outputs.detection_logits)[:, 1:]
    assert torch.equal(class_scores(outputs), expected)
    boxes = torch.tensor([[1.0, 2, 40, 9]]).repeat(5, 1)
    found = class_boxes(outputs, boxes, width=30, height=20)
    assert torch.equal(found, torch.tensor([1.0, 2, 30, 9]).expand(5, 3, 4))


@pytest.mark.parametrize("regions", [1, 6])
@pytest.mark.parametrize("students", [2, 3])
def test_disagreement_is_about_the_best_region_of_a_class(regions, students):
    scores = student_scores(random_outputs(np.random.default_rng(regions), regions, students))
    most = 0.0
    for c in range(3):
        by_region = [[float(scores[n, r, c]) for n in range(students)] for r in range(regions)]
        best = max(by_region, key=np.mean)
        most = max(most, max(best) - min(best))
    assert disagreement(scores) == pytest.approx(most)
    assert disagreement(scores[:1].expand(students, -1, -1)) == 0


def test_one_alone_and_none_disagree_about_nothing():
    assert disagreement(torch.rand(1, 6, 3)) is None
    assert disagreement(torch.rand(3, 0, 3)) == 0
    assert disagreement(torch.rand(3, 6, 0)) == 0


def test_bf16_becomes_float32():
    wide = random_outputs(np.random.default_rng(0), 5, 3)
    narrow = Outputs(*(getattr(wide, f.name).bfloat16() for f in dataclasses.fields(wide)))
    assert class_scores(narrow).dtype == torch.float32
    boxes = torch.tensor([[1.0, 2, 10, 9]]).repeat(5, 1)
    assert class_boxes(narrow, boxes, width=30, height=20).dtype == torch.float32
