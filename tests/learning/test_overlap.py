import numpy as np
import pytest
import torch
from torchvision.ops import box_iou

from oracle.learning import iou as slow_iou
from tag2box.learning.overlap import iou


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (1, 1), (6, 9)])
def test_iou_of_every_pair(n, m, random_boxes):
    rng = np.random.default_rng(n + m)
    boxes, others = random_boxes(rng, n), random_boxes(rng, m)
    expected = [[slow_iou(a, b) for b in others.tolist()] for a in boxes.tolist()]
    np.testing.assert_allclose(iou(boxes, others), np.reshape(expected, (n, m)))


def test_same_bits_as_torchvision_also_in_batches(random_boxes):
    boxes = random_boxes(np.random.default_rng(0), 60).float().view(3, 20, 4)
    before = boxes.clone()
    assert torch.equal(iou(boxes, boxes), box_iou(boxes, boxes))
    assert torch.equal(boxes, before)


def test_two_empty_boxes_do_not_overlap():
    empty = torch.tensor([[3.0, 3, 3, 3]])
    assert iou(empty, empty).item() == 0
