"""The lookups of the log: their brands read and changed, however long the log is away."""

from functools import partial

from cs.clock import Clock
from cs.domain import brand
from cs.domain.brand import Brand, stream_of
from cs.domain.brand_events import LookupCommand
from cs.domain.mailbox import DomainFacts
from cs.eventlog.follow import patiently
from cs.eventlog.streams import Streams


class Lookups:
    def __init__(self, streams: Streams, clock: Clock) -> None:
        self._streams = streams
        self._clock = clock

    async def brand(self, lookup: str) -> Brand:
        """Return the brand of *lookup* as it is now."""
        return (await patiently(partial(self._streams.brand, stream_of(lookup)))).state

    async def known(self, lookup: str) -> dict[str, DomainFacts]:
        """Return what is known of the mail domains of *lookup*, if it runs."""
        live = (await self.brand(lookup)).live
        if live is None or live.brand is None:
            return {}
        known = {}
        for domain in live.brand.mail_domains:
            folded = await patiently(partial(self._streams.mail_domain, domain))
            known[domain] = folded.state.known(self._clock.now())
        return known

    async def change(self, command: LookupCommand) -> None:
        """Record *command* on its lookup's brand; what was said before is quiet."""
        stream = stream_of(command.lookup)
        await patiently(
            lambda: self._streams.change(stream, lambda state: brand.decide(command, state))
        )
