from pathlib import Path

import pytest

from system.damage.stores import DamagedStores, PostgresStores, SqliteStores


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> DamagedStores:
    if request.param == "sqlite":
        return SqliteStores(tmp_path)
    return PostgresStores(request.getfixturevalue("database"))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what is repaired without waiting long."""
    monkeypatch.setattr("cs.eventlog.damage.RETRY_S", 0.01)
