import numpy as np
import pytest
from scipy import ndimage

from tag2box.data.clip_layers import Layer, flow_of, owners_of, picture_of
from tag2box.data.clips import BACKGROUND, LEAST_VISIBLE, OCCLUDER, Clip, make_clip
from tag2box.data.scene_rendering import Sprite


@pytest.fixture(scope="module")
def clips() -> list[Clip]:
    return [make_clip(i, frames=8, width=160, height=120, difficulty=0.3) for i in range(12)]


def warped_back(image: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """The next frame as the flow says this one looks: (H, W, 3), (H, W, 2) -> (H, W, 3)."""
    rows, columns = np.indices(flow.shape[:2])
    places = [rows + flow[:, :, 1], columns + flow[:, :, 0]]
    return np.stack(
        [ndimage.map_coordinates(image[:, :, c], places, order=1) for c in range(3)], axis=2
    )


def stays_visible(clip: Clip, frame: int) -> np.ndarray:
    """(H, W) pixels whose owner is also what the next frame shows where they go, all around."""
    height, width = clip.owners.shape[1:]
    rows, columns = np.indices((height, width))
    x = np.round(columns + clip.flow[frame, :, :, 0]).astype(int)
    y = np.round(rows + clip.flow[frame, :, :, 1]).astype(int)
    inside = (x >= 1) & (x < width - 1) & (y >= 1) & (y < height - 1)
    after = clip.owners[frame + 1][np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]
    same = inside & (after == clip.owners[frame])
    smooth = ndimage.maximum_filter(clip.owners[frame], 3) == ndimage.minimum_filter(
        clip.owners[frame], 3
    )
    return same & smooth


def test_a_clip_depends_on_its_seed_and_index_only() -> None:
    first = make_clip(3, seed=1, frames=3, width=96, height=64)
    make_clip(2, seed=1, frames=3, width=96, height=64)
    again = make_clip(3, seed=1, frames=3, width=96, height=64)
    other = make_clip(3, seed=2, frames=3, width=96, height=64)
    assert all(np.array_equal(getattr(first, f), getattr(again, f)) for f in Clip.__annotations__)
    assert not np.array_equal(first.images, other.images)


def test_shapes(clips: list[Clip]) -> None:
    for clip in clips:
        objects = len(clip.classes)
        assert clip.images.shape == (8, 120, 160, 3)
        assert clip.images.dtype == np.uint8
        assert clip.flow.shape == (7, 120, 160, 2)
        assert clip.boxes.shape == clip.part_boxes.shape == (8, objects, 4)
        assert clip.visible.shape == (8, objects)
    assert {len(c.classes) for c in clips} == {1, 2, 3}


def test_one_frame_has_no_flow() -> None:
    assert make_clip(0, frames=1, width=96, height=64).flow.shape == (0, 64, 96, 2)


def test_boxes_bound_what_is_visible(clips: list[Clip]) -> None:
    for clip in clips:
        for frame, owner in np.ndindex(clip.visible.shape):
            rows, columns = np.nonzero(clip.owners[frame] == owner)
            expected = [0.0] * 4
            if clip.visible[frame, owner]:
                expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
                assert clip.visible[frame, owner] >= LEAST_VISIBLE
            assert clip.boxes[frame, owner].tolist() == expected
            part = clip.part_boxes[frame, owner]
            if part.any():
                assert np.all(part[:2] >= expected[:2])
                assert np.all(part[2:] <= expected[2:])


def test_tags_are_the_classes_in_the_frame(clips: list[Clip]) -> None:
    for clip in clips:
        for frame in range(8):
            there = {int(c) for c, v in zip(clip.classes, clip.visible[frame], strict=True) if v}
            assert clip.tags(frame) == there


def test_some_frames_are_blurred_and_some_objects_are_hidden(clips: list[Clip]) -> None:
    blurred = np.concatenate([c.blurred for c in clips])
    assert 0.05 < blurred.mean() < 0.6
    least = np.array([c.visible.min() for c in clips])
    most = np.array([c.visible.max() for c in clips])
    assert (least < 0.6).sum() >= 3
    assert np.all(most > 0.5)
    assert np.median(most) > 0.8
    assert any((c.owners == OCCLUDER).any() for c in clips)


def test_blur_takes_detail_away() -> None:
    clips = [make_clip(i, frames=8, width=160, height=120, difficulty=0.3) for i in range(6)]
    ratios = []
    for clip in clips:
        detail = []
        for frame in range(8):
            inner = ndimage.binary_erosion(clip.owners[frame] >= 0, iterations=2)
            grey = clip.images[frame].mean(axis=2)
            detail.append(np.abs(np.diff(grey, axis=1))[inner[:, 1:]].mean())
        if clip.blurred.any() and not clip.blurred.all():
            detail_of = np.array(detail)
            ratios.append(detail_of[clip.blurred].mean() / detail_of[~clip.blurred].mean())
    assert len(ratios) >= 2
    assert np.mean(ratios) < 0.95


def test_the_flow_leads_each_pixel_to_itself(clips: list[Clip]) -> None:
    """Compared pixel by pixel where it stays visible, against standing still."""
    moved, still = [], []
    for clip in clips:
        for frame in range(7):
            if clip.blurred[frame] or clip.blurred[frame + 1]:
                continue
            seen = stays_visible(clip, frame) & (clip.owners[frame] >= 0)
            if seen.sum() < 50:
                continue
            here, after = clip.images[frame].astype(float), clip.images[frame + 1].astype(float)
            moved.append(np.abs(warped_back(after, clip.flow[frame]) - here)[seen].mean())
            still.append(np.abs(after - here)[seen].mean())
    assert len(moved) >= 10
    assert np.mean(moved) < 6
    assert np.mean(moved) < 0.5 * np.mean(still)


def test_most_of_what_is_seen_stays_visible(clips: list[Clip]) -> None:
    shares = [stays_visible(c, f)[8:-8, 8:-8].mean() for c in clips for f in range(7)]
    assert np.min(shares) > 0.7


def sprite_of(alpha: np.ndarray) -> Sprite:
    color = np.full((*alpha.shape, 3), 0.5, np.float32)
    return Sprite(color, alpha.astype(np.float32), np.zeros(alpha.shape, bool))


def test_a_layer_moves_grows_and_turns_about_its_centre() -> None:
    layer = Layer(
        sprite_of(np.ones((4, 6))),
        owner=0,
        place=np.array([10.0, 20.0]),
        velocity=np.array([2.0, -1.0]),
        growth=np.log(2),
        turn=np.pi / 2,
    )
    np.testing.assert_allclose(layer.pose(0) @ [3, 2, 1], [10, 20, 1])
    np.testing.assert_allclose(layer.pose(1) @ [3, 2, 1], [12, 19, 1])
    np.testing.assert_allclose(layer.pose(1) @ [4, 2, 1], [12, 21, 1], atol=1e-12)


def test_pictures_owners_and_flow_of_hand_made_layers() -> None:
    """A square of 3 x 3 at (4, 2) that moves by (2, 1) over a ground that stands."""
    ground = Layer(sprite_of(np.ones((8, 12))), BACKGROUND, np.array([6.0, 4.0]), np.zeros(2))
    square = Layer(sprite_of(np.ones((3, 3))), 0, np.array([5.5, 3.5]), np.array([2.0, 1.0]))
    owners, parts = owners_of([ground, square], 0, 8, 12)
    expected = np.full((8, 12), BACKGROUND)
    expected[2:5, 4:7] = 0
    np.testing.assert_array_equal(owners, expected)
    assert not parts.any()
    flow = flow_of([ground, square], 0, owners)
    np.testing.assert_allclose(flow[expected == 0], [[2, 1]] * 9, atol=1e-6)
    assert np.all(flow[expected != 0] == 0)
    later, _ = owners_of([ground, square], 1, 8, 12)
    np.testing.assert_array_equal(later, np.roll(expected, (1, 2), axis=(0, 1)))
    np.testing.assert_allclose(picture_of([ground, square], 0, 8, 12), 0.5, atol=1e-6)


def test_a_layer_outside_the_frame_shows_nothing() -> None:
    gone = Layer(sprite_of(np.ones((3, 3))), 0, np.array([-50.0, 3.0]), np.zeros(2))
    ground = Layer(sprite_of(np.ones((8, 12))), BACKGROUND, np.array([6.0, 4.0]), np.zeros(2))
    assert np.all(owners_of([ground, gone], 0, 8, 12)[0] == BACKGROUND)
    assert picture_of([ground, gone], 0, 8, 12).shape == (8, 12, 3)
