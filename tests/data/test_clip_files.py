from pathlib import Path

import numpy as np
from PIL import Image

from tag2box.data.clip_files import write_clip
from tag2box.data.clips import make_clip
from tag2box.data.imagenet_vid import parse_imagenet_vid, read_imagenet_vid
from tag2box.data.scene_objects import CLASS_NAMES


def test_the_reader_of_imagenet_vid_finds_what_the_clips_hold(tmp_path: Path) -> None:
    clips = [make_clip(i, frames=4, width=128, height=96) for i in range(3)]
    for i, clip in enumerate(clips):
        write_clip(tmp_path, f"clip_{i:05d}", clip, split="val")
    truth = parse_imagenet_vid(tmp_path, split="val", key_frames=0)
    tagged = read_imagenet_vid(tmp_path, split="val", key_frames=0)
    assert len(tagged) == 12
    for i, image in enumerate(tagged):
        clip, frame = clips[i // 4], i % 4
        there = clip.visible[frame] > 0
        mine = truth.object_image == i
        assert {tagged.class_names[t] for t in image.tags} == {
            CLASS_NAMES[t] for t in clip.tags(frame)
        }
        np.testing.assert_array_equal(truth.boxes[mine], clip.boxes[frame][there])
        assert [truth.class_names[c] for c in truth.classes[mine]] == [
            CLASS_NAMES[c] for c in clip.classes[there]
        ]
        stored = np.asarray(Image.open(image.path), dtype=float)
        assert np.abs(stored - clip.images[frame]).mean() < 5
