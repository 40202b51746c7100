"""What erasing people needs, whatever the stores.

To know that the views reflect what was erased, and a filter that erases suppressed people
whom a search has found again.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import EventLog
from cs.keystore.port import KeyStore
from cs.operations.erasure.person import Erasure
from cs.pipeline.suppression import SuppressedPerson, SuppressionFilter
from cs.projections.follower import Follower


def reached_end(events: EventLog, views: Follower) -> Callable[[], Awaitable[None]]:
    """Return what waits until *views* reflect all that *events* hold when it is called."""

    async def caught_up() -> None:
        await views.reached(await events.head())

    return caught_up


def build_suppression(erasure: Erasure, keys: KeyStore) -> SuppressionFilter:
    """Return the filter that leaves suppressed people out of what stages found."""

    async def erase(met: SuppressedPerson) -> None:
        with suppress(DamagedEvent):  # that stream is set aside, the others are done
            await retry_while_unavailable(
                lambda: erasure.erase(
                    met.print_, met.prints, [met.name], caused_by=met.caused_by
                )
            )

    return SuppressionFilter(keys, erase)
