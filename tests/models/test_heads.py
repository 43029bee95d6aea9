import pytest
import torch

from tag2box.models.heads import Heads


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize(("students", "regression"), [(3, True), (2, False), (0, True)])
def test_each_head_is_one_linear_layer(count: int, students: int, regression: bool) -> None:
    heads = Heads(5, 4, num_students=students, regression=regression)
    x = torch.randn(count, 5)
    out = heads(x)
    torch.testing.assert_close(out.class_logits, x @ heads.classes.weight.T + heads.classes.bias)
    torch.testing.assert_close(
        out.detection_logits, x @ heads.detections.weight.T + heads.detections.bias
    )
    assert out.student_logits.shape == (students, count, 5)
    for logits, layer in zip(out.student_logits, heads.students, strict=True):
        torch.testing.assert_close(logits, layer(x))
    if students and regression:
        assert out.student_deltas is not None
        assert out.student_deltas.shape == (students, count, 20)
        for deltas, layer in zip(out.student_deltas, heads.deltas, strict=True):
            torch.testing.assert_close(deltas, layer(x))
    else:
        assert out.student_deltas is None
