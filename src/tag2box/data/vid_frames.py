"""Which frames of the clips of ImageNet VID are read.

A split is a folder below Annotations/VID (train, val), of whose clips key frames are taken, or a
list in ImageSets/VID, whose lines are understood by their look:

    clip [label]            key frames of that clip (train_1.txt ... train_30.txt)
    clip/000012 [index]     that frame (val.txt)
    clip 1 12 180           that frame of a clip of 180 frames (VID_train_15frames.txt of Zhu et
                            al., CVPR 2017); a clip listed with frame 0 alone stands for its key
                            frames (VID_val_videos.txt)
"""

import os
import re
from pathlib import Path

from tag2box.data.paths import inside, list_files
from tag2box.data.text import listed
from tag2box.errors import InputError


def choose_frames(root: Path, split: str | None, key_frames: int) -> list[str]:
    """The frames of a split, or of all, as names below Annotations/VID without suffix.

    `key_frames` are taken of each clip, 0 for all.
    """
    if key_frames < 0:
        raise InputError("key_frames", f"is {key_frames}", "give 0 for every frame, or more")
    if split is not None and not re.fullmatch(r"[\w-]{1,100}", split):
        raise InputError(split, "is not the name of a split", "name one like train or val")
    annotations = root / "Annotations" / "VID"
    folder = annotations / (split or ".")
    file = root / "ImageSets" / "VID" / f"{split}.txt"
    if folder.is_dir():
        clips = _clips_below(folder, annotations)
        chosen = {clip: spaced(frames, key_frames) for clip, frames in clips.items()}
    elif file.is_file():
        chosen = _listed_frames(file, annotations, key_frames)
    else:
        known = sorted(entry.name for entry in annotations.iterdir() if entry.is_dir())
        raise InputError(
            root,
            f"has neither a folder nor a list of the split {split!r}",
            f"name one of {', '.join(known)}, or a list of ImageSets/VID",
        )
    return [f"{clip}/{frame}" for clip, frames in chosen.items() for frame in frames]


def spaced(frames: list[str], count: int) -> list[str]:
    """The middles of `count` equal parts of a clip; all frames for 0 or where there are fewer."""
    if count == 0 or len(frames) <= count:
        return frames
    return [frames[(2 * part + 1) * len(frames) // (2 * count)] for part in range(count)]


def _clips_below(folder: Path, annotations: Path) -> dict[str, list[str]]:
    """The frames of each clip below a folder."""
    clips = {}
    for parent, folders, files in os.walk(folder):
        folders.sort()
        frames = _frames(files)
        if frames:
            clips[Path(parent).relative_to(annotations).as_posix()] = frames
    return clips


def _frames(files: list[str]) -> list[str]:
    return sorted(file.removesuffix(".xml") for file in files if file.endswith(".xml"))


def _listed_frames(file: Path, annotations: Path, key_frames: int) -> dict[str, list[str]]:
    """By clip, the frames that a list chooses."""
    clips: dict[str, list[str]] = {}  # what is there, as far as it was asked for
    chosen: dict[str, dict[str, None]] = {}  # a frame is looked up among thousands
    with_length = set()
    for line, number in listed(file, first_word_only=False).items():
        where = f"{file}:{number}"
        words = line.split()
        clip, frame = _clip_and_frame(words, annotations, clips, where)
        if len(words) == 4:
            with_length.add(clip)
        if frame is None:
            chosen[clip] = dict.fromkeys(spaced(clips[clip], key_frames))
        elif frame in clips[clip]:
            if frame in chosen.setdefault(clip, {}):
                raise InputError(where, f"{clip}/{frame} is listed twice", "remove that line")
            chosen[clip][frame] = None
        else:
            raise InputError(
                where, f"{clip}/{frame}.xml is not in {annotations}", "add it or remove the line"
            )
    for clip in with_length:
        if list(chosen[clip]) == ["000000"]:
            chosen[clip] = dict.fromkeys(spaced(clips[clip], key_frames))
    return {clip: list(frames) for clip, frames in chosen.items()}


def _clip_and_frame(
    words: list[str], annotations: Path, clips: dict[str, list[str]], where: str
) -> tuple[str, str | None]:
    """The clip of a line, which is added to `clips`, and the frame if it names one."""
    if len(words) == 4:
        if not re.fullmatch(r"\d{1,9}", words[2]):
            raise InputError(where, f"{words[2][:50]!r} is not a frame number", "mend that line")
        candidates: list[tuple[str, str | None]] = [(words[0], f"{int(words[2]):06d}")]
    else:
        parent, _, last = words[0].rpartition("/")
        candidates = [(parent, last), (words[0], None)] if parent else [(words[0], None)]
    for name, frame in candidates:
        for split in ("", "train", "val", "test"):
            clip = "/".join(filter(None, (split, name)))
            if clip not in clips:
                clips[clip] = _frames(list(list_files(inside(annotations, clip, where))))
            if clips[clip]:
                return clip, frame
    raise InputError(
        where, f"the clip {words[0]!r} is not in {annotations}", "add it or remove the line"
    )
