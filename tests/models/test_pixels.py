import pytest
import torch

from tag2box.models.pixels import CAFFE, IMAGENET, TENSORFLOW


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_normalise_is_the_formula_of_each_family(dtype: torch.dtype) -> None:
    image = torch.randint(256, (3, 5, 4)).to(dtype)
    red, green, blue = image.float()
    by_hand = {
        IMAGENET: [
            (red / 255 - 0.485) / 0.229,
            (green / 255 - 0.456) / 0.224,
            (blue / 255 - 0.406) / 0.225,
        ],
        TENSORFLOW: [(red - 127) / 128, (green - 127) / 128, (blue - 127) / 128],
        CAFFE: [blue - 102.9801, green - 115.9465, red - 122.7717],
    }
    for statistics, channels in by_hand.items():
        torch.testing.assert_close(statistics.normalise(image), torch.stack(channels))
