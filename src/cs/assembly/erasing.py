"""What erasing people needs, whatever the stores.

To know that the views reflect what was erased, and a filter that erases suppressed people
that a search has found again.
"""

from collections.abc import Awaitable, Callable

from structlog import get_logger

from cs.domain.causation import AnyCause
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import EventLog
from cs.keystore.port import KeyStore
from cs.operations.erasure import Erasure
from cs.pipeline.suppression import SuppressionFilter
from cs.projections.follower import Follower
from cs.runtime.private_files import DeletedDataRemains

log = get_logger()


def reached_end(events: EventLog, views: Follower) -> Callable[[], Awaitable[None]]:
    """Return what waits until *views* reflect all that *events* hold when it is called."""

    async def caught_up() -> None:
        await views.reached(await events.head())

    return caught_up


def build_suppression(erasure: Erasure, keys: KeyStore) -> SuppressionFilter:
    """Return the filter that leaves suppressed people out of what stages found."""

    async def erase(
        print_: str, prints: frozenset[str], name: str, caused_by: AnyCause
    ) -> None:
        try:
            await retry_while_unavailable(
                lambda: erasure.erase(print_, prints, [name], caused_by=caused_by)
            )
        except DamagedEvent:
            pass  # that stream is set aside, the others are done
        except DeletedDataRemains as error:  # the search does not wait for another process
            log.warning("erased_data_remains", why=str(error))

    return SuppressionFilter(keys, erase)
