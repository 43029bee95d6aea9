import numpy as np
import pytest
import torch

from tag2box.models.noise import RegionNoise, _mixed, _mixed_number, _signed


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_a_regions_numbers_do_not_depend_on_the_split(count: int) -> None:
    whole = RegionNoise.of(5, count)
    first, second = whole.uniform(3, 4), whole.uniform(7)
    for start in range(count):
        part = whole[start : start + 2]
        torch.testing.assert_close(part.uniform(3, 4), first[start : start + 2], rtol=0, atol=0)
        torch.testing.assert_close(part.uniform(7), second[start : start + 2], rtol=0, atol=0)


def test_the_tensor_hash_is_the_host_hash() -> None:
    numbers = [0, 1, 12345, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    mixed = _mixed(torch.tensor([_signed(n) for n in numbers], dtype=torch.int32))
    assert mixed.tolist() == [_signed(_mixed_number(n)) for n in numbers]


def test_numbers_are_uniform_and_independent() -> None:
    noise = RegionNoise.of(1, 400)
    first, second = noise.uniform(256), noise.uniform(256)
    other_seed = RegionNoise.of(2, 400).uniform(256)
    for numbers in (first, second, other_seed):
        assert numbers.min() > 0
        assert numbers.max() < 1
        counts, _ = np.histogram(numbers, bins=64, range=(0, 1))
        expected = numbers.numel() / 64
        chi_squared = ((counts - expected) ** 2 / expected).sum()
        assert chi_squared < 63 + 5 * np.sqrt(2 * 63)
    shifted = [
        (first[1:], first[:-1]),  # next region
        (first[:, 1:], first[:, :-1]),  # next position
        (first, second),  # next draw
        (first, other_seed),  # next seed
    ]
    for a, b in shifted:
        assert abs(np.corrcoef(a.flatten(), b.flatten())[0, 1]) < 5 / np.sqrt(a.numel())
