"""Noting that people are opened, before they are."""

from datetime import datetime

from cs.domain import disclosure
from cs.domain.causation import OperatorCause
from cs.domain.disclosure import DisclosedEvents, MakeDisclosure
from cs.eventlog.streams import Streams
from cs.runtime.clock import Clock
from cs.runtime.ids import random_id


class Disclosing:
    """Works while a service runs: each disclosure is one append to a stream of its own.

    Args:
        by: Account or label of who opens them; it is stored in the events.
    """

    def __init__(self, streams: Streams, clock: Clock, by: str | None = None) -> None:
        self._streams = streams
        self._clock = clock
        self._by = by

    async def disclose(
        self,
        command: str,
        why: str,
        asked: DisclosedEvents,
        *,
        upto: int | None,
        open_until: datetime | None = None,
        file: str | None = None,
    ) -> int:
        """Store that people are opened; return the position of its event.

        Args: as the fields of `cs.domain.disclosure.DisclosureMade`.

        Raises:
            Refusal: ``reason-invalid``: *why* is no reason.  Nothing was stored.
            LogUnavailable: It may or may not be stored.
        """
        make = MakeDisclosure(
            command=command,
            why=why,
            asked=asked,
            upto=upto,
            open_until=open_until,
            file=file,
            by=self._by,
            at=self._clock.now(),
        )
        stream = random_id("disclosure-", 16)
        _, position = await self._streams.change(
            stream,
            lambda state: disclosure.decide(make, state),
            caused_by=OperatorCause(command=command, who=self._by),
        )
        return position
