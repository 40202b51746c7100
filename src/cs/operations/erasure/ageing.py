"""Erasing everybody of lookups whose retention time is over.

`cs.operations.retention` says which lookups, and when.  Nobody is suppressed.
"""

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased
from cs.domain.causation import AnyCause, TimerCause
from cs.eventlog.damage import read_past
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.sealing import key_name
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure.brand_streams import BrandStreams
from cs.operations.erasure.paid_answers import ForgetCalls, forget_answers
from cs.runtime.clock import Clock

#: What ages people out unless an operator has it done again.
DUE = TimerCause(timer="ageing")


class AgeingResult(msgspec.Struct, frozen=True):
    """Lookups whose people are forgotten, and how many people that is.

    Attributes:
        unread: Why others are left out; ``None`` if none is.
    """

    lookups: Sequence[str]
    people: int
    unread: DamagedEvent | None = None


class Ageing:
    """Args: as those of `cs.operations.erasure.person.Erasure`."""

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        forget_calls: ForgetCalls | None = None,
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._brands = BrandStreams(streams, clock)
        self._reflected = reflected
        self._forget_calls = forget_calls

    async def age_out(self, lookups: Sequence[str], caused_by: AnyCause = DUE) -> AgeingResult:
        """Forget everybody whom *lookups*, which have ended, found.

        Nobody is suppressed: a later search may find them anew.  What is told of each lookup
        comes last, so that whatever is interrupted is done again.  A lookup whose stream is
        damaged is set aside and left out.

        Raises:
            LogUnavailable: Do it again.
            DeletedDataRemains: The same, once nobody else reads the files.
        """
        people: dict[str, tuple[str, ...]] = {}
        gone: list[str] = []
        unread: DamagedEvent | None = None
        for lookup in lookups:
            try:
                refs = await self._brands.people_of(lookup)
                gone += await self._brands.bodies_of(lookup)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unread = damaged
            else:
                people[lookup] = refs
                gone += (key_name(lookup, ref) for ref in refs)
        await self._keys.destroy(gone)
        await forget_answers(self._forget_calls, people)
        for lookup, refs in list(people.items()):
            try:
                stream = stream_of(lookup)
                await self._brands.leave_out(stream, {lookup: refs}, caused_by, aged_out=True)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                unread = damaged
                del people[lookup]
        await self._reflected()
        return AgeingResult(tuple(people), sum(map(len, people.values())), unread)

    async def aged_out(self) -> tuple[str, ...]:
        """Return the lookups whose people have aged out, by what the log tells."""
        found: dict[str, None] = {}
        position = 0
        while page := await read_past(self._streams.log, position):
            position = page[-1].position
            for recorded in page:
                if isinstance(recorded.event, ContactsErased) and recorded.event.aged_out:
                    found[recorded.event.lookup] = None
        return tuple(found)
