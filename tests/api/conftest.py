"""Nodes that hear nothing new of the log, on either kind of store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.frozen import Frozen, on_postgres, on_sqlite


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[Frozen]:
    async with on_sqlite(tmp_path) as frozen:
        yield frozen


@pytest.fixture
async def shared(database: str) -> AsyncIterator[Frozen]:
    async with on_postgres(database) as frozen:
        yield frozen
