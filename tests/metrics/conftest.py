import pytest

from cs.metrics.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    """All metrics of a process, at nothing yet."""
    return Metrics()
