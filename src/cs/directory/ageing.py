"""Forgetting people of the directory that are known of too long ago, every hour."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from structlog import get_logger

from cs.directory.errors import DirectoryUnavailable
from cs.directory.store import PeopleDirectory
from cs.domain.cause import fault
from cs.runtime.clock import Clock
from cs.runtime.coordination import in_background
from cs.runtime.private_files import DeletedDataRemains

log = get_logger()

#: How often old people are looked for.
EVERY = timedelta(hours=1)


@asynccontextmanager
async def forget_old_people(
    directory: PeopleDirectory, clock: Clock, kept_for: timedelta
) -> AsyncIterator[None]:
    """Forget people known of longer ago than *kept_for*, now and every hour, until left."""

    async def forget() -> None:
        while True:
            try:
                people = 0
                while gone := await directory.forget_before((clock.now() - kept_for).date()):
                    people += gone
                if people:
                    log.info("directory_aged_out", people=people)
            except (DirectoryUnavailable, DeletedDataRemains) as error:
                log.warning("directory_not_aged_out", why=str(error))
            except Exception as error:  # noqa: BLE001  or no person is forgotten until a restart
                # A role that may not replace a table, a schema that is not there, a bug.
                log.warning("directory_not_aged_out", **fault(error))
            await clock.sleep_until(clock.now() + EVERY)

    async with in_background(forget(), "ageing-directory"):
        yield
