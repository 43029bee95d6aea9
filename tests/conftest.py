from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Several tests at once on few cores wait for each other's threads otherwise.

    Tests of other modules get as many as before: sums of several threads round otherwise.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
