"""Settles every search that waits for a lookup, once it has finished.

Each by an append of its own to its key's stream: outcome and charge in one event.  What is
settled already is quiet, so several may do this at once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from cs.bus.headers import root_place
from cs.domain import key
from cs.domain.brand.brand import Brand, Finish, stream_of
from cs.domain.brand.events import LookupFinished
from cs.domain.causation import AnyCause
from cs.domain.key import Key, SettleSearch
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NO_STREAM
from cs.eventlog.streams import Streams
from cs.metrics.traces import NO_TRACES, Traces
from cs.pipeline.lookups import Lookups, with_damage_check
from cs.runtime import failpoints
from cs.runtime.clock import Clock

#: Events of a brand read at once when its finish is no longer remembered.
PAGE = 500


class SearchSettler:
    """Knows who waits for which lookup."""

    def __init__(
        self, streams: Streams, lookups: Lookups, clock: Clock, traces: Traces = NO_TRACES
    ) -> None:
        self._traces = traces
        self._streams = streams
        self._lookups = lookups
        self._clock = clock
        self._waiting: dict[str, dict[str, str]] = {}  # lookup -> search -> key

    def add_waiting(self, search: str, key_id: str, lookup: str) -> None:
        self._waiting.setdefault(lookup, {})[search] = key_id

    def remove_waiting(self, search: str, lookup: str) -> None:
        waiting = self._waiting.get(lookup)
        if waiting is not None:
            waiting.pop(search, None)
            if not waiting:
                del self._waiting[lookup]

    def lookups(self) -> Sequence[str]:
        """Return the lookups that somebody waits for."""
        return list(self._waiting)

    def lookups_of_key(self, key_id: str) -> Sequence[str]:
        """Return the lookups that searches of the key *key_id* wait for."""
        return [lookup for lookup, keys in self._waiting.items() if key_id in keys.values()]

    def waiting(self, lookup: str) -> Mapping[str, str]:
        """Return the searches that wait for *lookup* now, and of which key each is."""
        return dict(self._waiting.get(lookup, {}))

    async def settle_all(self, lookup: str, caused_by: AnyCause) -> None:
        """Settle who waits for *lookup* now; see `settle`."""
        await self.settle(lookup, self.waiting(lookup), caused_by)

    async def settle(
        self, lookup: str, searches: Mapping[str, str], caused_by: AnyCause
    ) -> None:
        """Settle those of *searches* that wait for *lookup* still, unless it runs.

        All at once, so that the log stores them together.  Whose key cannot be read waits
        on; its stream is set aside.  *caused_by* is what the caller acted on.

        Raises:
            DamagedEvent: How the lookup ended cannot be read.
        """
        waiting = self._waiting.get(lookup, {})
        unsettled = {search: key for search, key in searches.items() if search in waiting}
        if not unsettled:
            return
        finish = await self._finish_of(lookup)
        if finish is None:
            return  # still live: its finish will come with the tail
        async with asyncio.TaskGroup() as tasks:
            for search, key_id in unsettled.items():
                tasks.create_task(self._settle(search, key_id, finish, caused_by))

    async def _settle(
        self, search: str, key_id: str, finish: Finish, caused_by: AnyCause
    ) -> None:
        def decide(state: Key) -> Sequence[key.KeyEvent]:
            command = SettleSearch(
                search=search,
                lookup=finish.lookup,
                outcome=finish.outcome,
                verified=finish.verified,
                at=self._clock.now(),
            )
            return key.decide(command, state)

        stream = f"key-{key_id}"
        checked_decide = with_damage_check(stream, decide)
        failpoints.reach("settlement.before-append")
        try:
            with self._traces.span(
                "settle",
                within=root_place(finish.lookup),
                lookup=finish.lookup,
                outcome=finish.outcome,
            ):
                await retry_while_unavailable(
                    lambda: self._streams.change(stream, checked_decide, caused_by=caused_by)
                )
        except DamagedEvent as damaged:
            self._streams.set_aside.note(damaged)
            return
        failpoints.reach("settlement.after-append")
        self.remove_waiting(search, finish.lookup)

    async def _finish_of(self, lookup: str) -> Finish | None:
        remembered = self._streams.remembered(stream_of(lookup))
        state: Brand | None = None if remembered is None else remembered.state
        if state is not None and (found := state.finish_of(lookup)) is not None:
            return found  # how it ended never changes
        state = await self._lookups.brand(lookup)
        found = state.finish_of(lookup)
        if found is not None or (state.live is not None and state.live.id == lookup):
            return found
        return await self._finish_in_log(lookup)

    async def _finish_in_log(self, lookup: str) -> Finish | None:
        read = partial(self._streams.log.read, stream_of(lookup), limit=PAGE)
        after = NO_STREAM
        while page := await retry_while_unavailable(partial(read, after=after)):
            for recorded in page:
                event = recorded.event
                if isinstance(event, LookupFinished) and event.lookup == lookup:
                    return Finish(lookup, event.outcome, event.at, event.verified)
            after = page[-1].version
        return None
