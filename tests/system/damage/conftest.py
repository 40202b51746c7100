import pytest

from harness.places import Place
from system.damage.stores import DamagedStores


@pytest.fixture
def stores(place: Place) -> DamagedStores:
    return DamagedStores(place)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what is repaired without waiting long."""
    monkeypatch.setattr("cs.eventlog.damage.RETRY_S", 0.01)
