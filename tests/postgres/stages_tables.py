"""A fixture: what the workers of stages keep together, empty."""

from collections.abc import AsyncIterator

import pytest

from cs.postgres.pool import Pool
from postgres.migrated import migrated


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """Connections to a database of this test's own that has the tables of the stages."""
    async with migrated(database, "stages") as pool:
        yield pool
