import numpy as np

from tag2box.outputs.picture import tags_and_boxes
from tag2box.structures import Detections


def found(*boxes: list[float]) -> Detections:
    return Detections(
        boxes=np.array(boxes, np.float32).reshape(-1, 4),
        scores=np.ones(len(boxes), np.float32),
        classes=np.zeros(len(boxes), np.int64),
        class_names=("cat",),
    )


def test_each_photo_stands_beside_its_copy_with_boxes() -> None:
    photos = [np.full((100, 200, 3), grey, np.uint8) for grey in (60, 120, 180)]
    boxes = [found([40, 30, 120, 90]), found(), found([0, 0, 200, 100])]
    sheet = np.asarray(tags_and_boxes(photos, [["cat"], [], ["cat", "dog"]], boxes, width=100))
    assert sheet.shape == (2 * 56 + 6, 2 * 218, 3)
    left, right = sheet[6:56, 6:106], sheet[6:56, 112:212]
    assert np.all(left[:20] == 60)  # the tag stands at the bottom
    assert np.any(left[30:] != 60)
    assert np.all(right[44, 20:60] != 60)  # the lower edge of the box
    assert np.all(right[30:40, 30:50] == 60)  # and what it holds
    second = sheet[6:56, 218 + 6 : 218 + 106], sheet[6:56, 218 + 112 : 218 + 212]
    assert np.all(second[0] == 120)
    assert np.all(second[1] == 120)


def test_a_single_photo_of_another_shape() -> None:
    photo = np.zeros((300, 100, 3), np.uint8)
    sheet = tags_and_boxes([photo], [["cat"]], [found()], columns=1, width=50)
    assert sheet.size == (118, 162)
