"""Which searches were made: who asked for what, and how each ended."""

from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
from msgspec.structs import replace

from cs.history.history import History, Progress, unseen
from cs.history.selection import Selection


class ListedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """One search.

    Attributes:
        position, at: Of the event that admitted it.
        brand: As it was shown to the caller.
        lookup: The run that answers it.
        outcome: ``running``, or how it ended.
        reused: Whether it was answered from a run of before; ``None``: it runs.
    """

    position: int
    at: datetime
    search: str
    key: str
    brand: str
    lookup: str
    outcome: str = "running"
    reused: bool | None = None
    charged: bool = False

    def is_between(self, since: datetime | None, until: datetime | None) -> bool:
        """Return whether it was made from *since* on and before *until*."""
        return (since is None or self.at >= since) and (until is None or self.at < until)


class _SearchFields(msgspec.Struct, frozen=True):
    """What is read of both events."""

    search: str
    lookup: str
    brand: str | None = None
    outcome: str | None = None
    cached: bool = False
    charged: bool = False


_DECODER = msgspec.json.Decoder(_SearchFields)


async def listed_searches(
    history: History, which: Selection, progress: Progress = unseen
) -> AsyncIterator[ListedSearch]:
    """Yield the searches of *which* in the order in which they ended; those that run come last.

    In memory are the searches that run at one time.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    both = replace(which, types=("search-admitted", "search-settled"))
    running: dict[str, ListedSearch] = {}
    async for event in history.events(both, progress):
        told = _DECODER.decode(event.state)
        if told.outcome is None:
            running[told.search] = ListedSearch(
                position=event.position,
                at=event.at,
                search=told.search,
                key=event.stream.removeprefix("key-"),
                brand=told.brand or "",
                lookup=told.lookup,
            )
            continue
        admitted = running.pop(told.search, None)
        if admitted is not None:
            yield replace(
                admitted, outcome=told.outcome, reused=told.cached, charged=told.charged
            )
    for each in running.values():
        yield each
