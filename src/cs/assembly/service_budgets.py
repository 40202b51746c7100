"""Where it is counted what paid services were asked and paid: one account for all workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.domain.service import World
from cs.paid_calls.budgets.account import StoredBudgets, account_away
from cs.paid_calls.budgets.port import Budgets
from cs.settings import Settings

#: What was spent, a row a day and service, and how fast each may be asked.  Deleted while the
#: service is stopped, the caps of this day and month begin anew.
SPENDING_FILE = "spending.db"


@asynccontextmanager
async def open_budgets(settings: Settings, world: World = "live") -> AsyncIterator[Budgets]:
    """Yield the account of *settings*: in the stages' database, else in the data folder.

    Neither the database is connected to nor the file made before something is reserved.

    Raises:
        BadSettings: The stages' database is not named as it has to be.
    """
    if settings.stages_postgres is not None:
        # A service in one process starts without what only databases need.
        from cs.assembly.postgres_pools import pool_of  # noqa: PLC0415
        from cs.postgres.sql import PostgresDatabase  # noqa: PLC0415

        async with pool_of(settings, "stages_postgres", "command", world) as pool:
            yield StoredBudgets(PostgresDatabase(pool, account_away))
        return
    async with StoredBudgets.in_file(settings.data_dir / SPENDING_FILE) as budgets:
        yield budgets
