"""A sheet of photos: with their tags on the left, with boxes on the right."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from tag2box.structures import Detections

_GAP = 6
_TEXT = 12
_INK, _PAPER = (255, 255, 255), (20, 20, 20)
# One colour a class, told apart by most eyes (after Okabe and Ito), over and over.
_COLORS = (
    *((230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66)),
    *((255, 110, 60), (204, 121, 167), (150, 220, 130), (130, 140, 255)),
)


def tags_and_boxes(
    photos: Sequence[npt.NDArray[np.uint8]],
    tags: Sequence[Sequence[str]],
    detections: Sequence[Detections],
    *,
    columns: int = 2,
    width: int = 240,
) -> Image.Image:
    """Pairs of a photo (H, W, 3) with its tags and the same photo with its boxes.

    `columns` pairs a row, each photo scaled to `width` pixels; a row is as high as the first photo.
    """
    height = round(photos[0].shape[0] * width / photos[0].shape[1])
    rows = -(-len(photos) // columns)
    pair = 2 * width + 3 * _GAP
    sheet = Image.new("RGB", (columns * pair, rows * (height + _GAP) + _GAP), _INK)
    for i, (photo, words, found) in enumerate(zip(photos, tags, detections, strict=True)):
        small = Image.fromarray(photo).resize((width, height), Image.Resampling.LANCZOS)
        left, top = i % columns * pair + _GAP, i // columns * (height + _GAP) + _GAP
        sheet.paste(_with_tags(small.copy(), words), (left, top))
        sheet.paste(_with_boxes(small, found, width / photo.shape[1]), (left + width + _GAP, top))
    return sheet


def _with_tags(photo: Image.Image, words: Sequence[str]) -> Image.Image:
    x = 4
    for word in words:
        x = _label(photo, word, x, photo.height - _TEXT - 9, _PAPER, _INK) + 4
    return photo


def _with_boxes(photo: Image.Image, found: Detections, factor: float) -> Image.Image:
    draw = ImageDraw.Draw(photo)
    for box, index in zip(found.boxes.tolist(), found.classes.tolist(), strict=True):
        x1, y1, x2, y2 = (round(factor * corner) for corner in box)
        color = _COLORS[index % len(_COLORS)]
        draw.rectangle((x1, y1, x2 - 1, y2 - 1), outline=color, width=2)
        _label(photo, found.class_names[index], x1, max(0, y1 - _TEXT - 4), color, _PAPER)
    return photo


def _label(
    photo: Image.Image,
    word: str,
    x: int,
    y: int,
    ground: tuple[int, int, int],
    ink: tuple[int, int, int],
) -> int:
    """The word on a coloured ground; answers where the ground ends."""
    draw, font = ImageDraw.Draw(photo), ImageFont.load_default(_TEXT)
    end = x + round(draw.textlength(word, font=font)) + 6
    draw.rectangle((x, y, end, y + _TEXT + 4), fill=ground)
    draw.text((x + 3, y + 1), word, fill=ink, font=font)
    return end
