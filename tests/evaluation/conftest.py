import pytest

from oracle.scored_data import Case, make_case


@pytest.fixture(params=range(12))
def case(request: pytest.FixtureRequest) -> Case:
    sizes = [(0, 0), (0, 5), (5, 0), (1, 1)]  # objects, detections
    if request.param < len(sizes):
        objects, detections = sizes[request.param]
        return make_case(request.param, objects=objects, detections=detections)
    return make_case(request.param)


@pytest.fixture
def only_difficult() -> Case:
    return make_case(99, difficult=1.0)
