"""Recording bounces: on the stream of the mail domain, and on the lookups that had the mailbox.

In this order, so that whatever is interrupted is finished by doing it again: the mail domain's
stream says that the mailbox is refuted, from where on no new search verifies it; then each
lookup's result goes on, or answers, without it.  Which lookups had it is read after that: one
whose check was stored in the meantime is among them, and one whose check is stored later
expects the mail domain's stream where it was before (`cs.pipeline.refuted`), and loses.

A bounce of a mailbox that no search of this service returned is left alone: nothing is stored
of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from cs.domain.brand import brand
from cs.domain.brand.events import (
    ContactsDiscovered,
    MailboxVerified,
    PeopleFound,
    RecordBounce,
)
from cs.domain.causation import AnyCause
from cs.domain.contact import BouncedMailbox, CheckedPerson, Person
from cs.domain.mail.bounce import Bounce, BounceKind, BounceMeaning, bounce_meaning
from cs.domain.mail.patterns import pattern_of
from cs.domain.mail.syntax import ascii_mailbox
from cs.domain.mail_domain import (
    BounceReported,
    MailDomainEvent,
    ReportBounce,
    ReportedBounces,
    report_bounce,
)
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import email_print
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure.brand_streams import by_stream, contacts_in, folded, results_of
from cs.runtime.clock import Clock

#: Characters of what a mail server said that are kept.
DIAGNOSTIC = 500

#: What became of one bounce: it is told now, was told before, is of no mailbox that a search
#: returned, or cannot be recorded until a damaged stream is mended.
Result = Literal["recorded", "known", "not_ours", "damaged"]


class RecordedBounce(msgspec.Struct, frozen=True):
    """What became of one bounce.

    Attributes:
        kind, why: What it means (`cs.domain.mail.bounce`).
        corrected: Lookups whose result is without that e-mail from now on.
    """

    result: Result
    kind: BounceKind
    why: str
    corrected: int = 0


class _Delivery(NamedTuple):
    """A mailbox that a lookup had verified."""

    lookup: str
    person: str
    checked: CheckedPerson
    verified_at: datetime
    pattern: str | None


class _JudgedBounce(NamedTuple):
    """One bounce of a batch, by its place there."""

    place: int
    bounce: Bounce
    means: BounceMeaning
    print_: str


class BounceRecorder:
    """Works while a service runs or not.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        caused_by: What tells of the bounces.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        caused_by: AnyCause,
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._reflected = reflected
        self._caused_by = caused_by

    async def record(
        self, bounces: Sequence[Bounce], *, dry_run: bool = False
    ) -> list[RecordedBounce]:
        """Record *bounces*; return what became of each, in their order.

        With *dry_run* nothing is stored, and returned is what would become of each.

        Raises:
            LogUnavailable, KeysUnavailable: Do it again; it goes on from where it was.
        """
        results: dict[int, RecordedBounce] = {}
        # In a thread: a service that answers calls judges what strangers' mail servers said.
        for domain, of_domain in (await asyncio.to_thread(self._judged, bounces)).items():
            results |= await self._of_domain(domain, of_domain, dry_run=dry_run)
        if any(each.corrected for each in results.values()) and not dry_run:
            await self._reflected()
        return [results[place] for place in range(len(bounces))]

    def _judged(self, bounces: Sequence[Bounce]) -> Mapping[str, Sequence[_JudgedBounce]]:
        """Return *bounces* by mail domain, with what each means."""
        by_domain: dict[str, list[_JudgedBounce]] = {}
        for place, bounce in enumerate(bounces):
            address = ascii_mailbox(bounce.address.strip()).lower()
            print_ = email_print(self._keys, address)
            judged = _JudgedBounce(place, bounce, bounce_meaning(bounce), print_)
            by_domain.setdefault(address.rpartition("@")[2], []).append(judged)
        return by_domain

    async def _of_domain(
        self, domain: str, bounces: Sequence[_JudgedBounce], *, dry_run: bool
    ) -> dict[int, RecordedBounce]:
        results: dict[int, RecordedBounce] = {}
        ours: list[tuple[_JudgedBounce, Sequence[_Delivery]]] = []
        for judged in bounces:
            try:
                deliveries = await self._deliveries(judged.print_)
            except DamagedEvent as damaged:
                self._streams.set_aside.note(damaged)
                results[judged.place] = _result("damaged", judged)
                continue
            if deliveries:
                ours.append((judged, deliveries))
            else:
                results[judged.place] = _result("not_ours", judged)
        if not ours:
            return results
        try:
            new = await self._report(domain, ours, dry_run=dry_run)
        except DamagedEvent as damaged:
            self._streams.set_aside.note(damaged)
            return results | {j.place: _result("damaged", j) for j, _ in ours}
        done: set[tuple[str, str]] = set()  # a dry run leaves them for the next to find
        for judged, _ in ours:
            corrected: frozenset[tuple[str, str]] = frozenset()
            if judged.means.kind is BounceKind.PERMANENT:
                try:
                    deliveries = await self._deliveries(judged.print_)  # none is added any more
                except DamagedEvent as damaged:
                    self._streams.set_aside.note(damaged)
                    results[judged.place] = _result("damaged", judged)
                    continue
                left = [each for each in deliveries if (each.lookup, each.person) not in done]
                corrected = await self._correct(judged, left, dry_run=dry_run)
                done |= corrected
            found: Result = "recorded" if judged.place in new or corrected else "known"
            results[judged.place] = _result(found, judged, len(corrected))
        return results

    async def _deliveries(self, print_: str) -> Sequence[_Delivery]:
        """Return where the mailbox with the fingerprint *print_* was verified."""
        names = await self._keys.matching([print_])
        found: list[_Delivery] = []
        for stream, people in by_stream(names).items():
            who: dict[tuple[str, str], Person] = {}
            for recorded in await self._streams.log.read(stream):
                match recorded.event:
                    case (
                        PeopleFound(lookup=lookup, people=named)
                        | ContactsDiscovered(lookup=lookup, people=named)
                    ):
                        who |= {(lookup, each.person): each for each in named}
                    case MailboxVerified(lookup=lookup, checked=checked, at=at) if (
                        checked.person in people.get(lookup, ())
                        and checked.address is not None
                        and email_print(self._keys, checked.address) == print_
                    ):
                        person = who.get((lookup, checked.person))
                        names_of = (person.first_name, person.last_name) if person else ("", "")
                        pattern = pattern_of(checked.address, *names_of)
                        found.append(_Delivery(lookup, checked.person, checked, at, pattern))
                    case _:
                        pass
        return found

    async def _report(
        self,
        domain: str,
        ours: Sequence[tuple[_JudgedBounce, Sequence[_Delivery]]],
        *,
        dry_run: bool,
    ) -> frozenset[int]:
        """Tell the stream of *domain*; return the places of the bounces that are new to it."""
        stream = f"mail-domain-{domain}"

        async def attempt() -> frozenset[int]:
            recorded = await self._streams.log.read(stream)
            told = (each.event for each in recorded)
            state = ReportedBounces.of(e for e in told if isinstance(e, MailDomainEvent))
            new: dict[int, BounceReported] = {}
            for judged, deliveries in ours:
                command = ReportBounce(
                    mailbox=judged.print_,
                    bounced_at=judged.bounce.at,
                    status=judged.means.status,
                    kind=judged.means.kind,
                    why=judged.means.reason,
                    pattern=deliveries[-1].pattern,
                    at=self._clock.now(),
                )
                event = report_bounce(command, state)
                if event is not None:
                    new[judged.place] = event
                    state = state.after(event)
            if new and not dry_run:
                version = recorded[-1].version if recorded else NO_STREAM
                append = Append(stream, version, tuple(new.values()), self._caused_by)
                await self._streams.log.append([append])
            return frozenset(new)

        async with self._streams.lock(stream):
            return await self._streams.retry_on_conflict(attempt)

    async def _correct(
        self, judged: _JudgedBounce, deliveries: Iterable[_Delivery], *, dry_run: bool
    ) -> frozenset[tuple[str, str]]:
        """Take the mailbox out of the results that show it; return whose, by lookup."""
        corrected: set[tuple[str, str]] = set()
        for delivery in deliveries:
            stream = brand.stream_of(delivery.lookup)

            async def attempt(stream: str = stream, delivery: _Delivery = delivery) -> bool:
                recorded = await self._streams.log.read(stream)
                results = results_of(recorded, delivery.lookup)
                command = RecordBounce(
                    lookup=delivery.lookup,
                    bounced=BouncedMailbox(
                        person=delivery.person,
                        address=delivery.checked.address or "",
                        diagnostic=judged.bounce.diagnostic[:DIAGNOSTIC],
                    ),
                    bounced_at=judged.bounce.at or self._clock.now(),
                    status=judged.means.status,
                    why=judged.means.reason,
                    checked=delivery.checked,
                    verified_at=delivery.verified_at,
                    contacts=contacts_in(results[-1]) if results else (),
                    at=self._clock.now(),
                )
                events = brand.decide(command, folded(recorded))
                if events and not dry_run:
                    append = Append(stream, recorded[-1].version, events, self._caused_by)
                    await self._streams.log.append([append])
                return bool(events)

            async with self._streams.lock(stream):
                if await self._streams.retry_on_conflict(attempt):
                    corrected.add((delivery.lookup, delivery.person))
        return frozenset(corrected)


def _result(result: Result, judged: _JudgedBounce, corrected: int = 0) -> RecordedBounce:
    return RecordedBounce(result, judged.means.kind, judged.means.reason, corrected)
