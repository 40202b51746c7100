"""Recording bounces: on the stream of the mail domain, and on the lookups with the mailbox.

In this order, so that an interrupted recording is finished by doing it again: the mail domain's
stream says that the mailbox is refuted, from where on no new search verifies it; then each
lookup's result goes on, or answers, without it.  The lookups are read after that: one whose
check was stored in the meantime is among them, and one whose check is stored later expects the
mail domain's stream at its old version (`cs.pipeline.refuted`), and loses.

A bounce of a mailbox that no search of this service returned is left alone: nothing is stored
of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from cs.domain.brand import brand
from cs.domain.brand.events import (
    BrandEvent,
    ContactsDiscovered,
    MailboxVerified,
    PeopleFound,
    RecordBounce,
)
from cs.domain.causation import AnyCause, OperatorCause
from cs.domain.codec import AnyEvent
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
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.bounces.files import Row, rows_in
from cs.operations.bounces.status_mail import Unproven
from cs.operations.brand_streams import (
    by_stream,
    change_by_events,
    contacts_in,
    folded,
    results_of,
)
from cs.runtime.clock import Clock
from cs.runtime.table_text import is_hopeless
from cs.sources.tables.table_file import BadFile

#: The cause of bounces that are posted to the admin port.
POSTED = OperatorCause(command="POST /mailboxes/bounced")
#: Characters of the mail server's words that are kept.
DIAGNOSTIC = 500
#: Rows recorded at once: what is recorded when an import is stopped stays.
BATCH = 500
#: Bad rows that are listed one by one; of the others only their number.
LISTED = 20

#: The result of one row.  A bounce is new, was recorded before, is of no mailbox that a search
#: returned, cannot be recorded until a damaged stream is mended, or lacks its proof.  The
#: others are no bounce, or none that can be read.
Result = Literal["recorded", "known", "not_ours", "damaged", "unproven", "ignored", "bad"]


class RowResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one row.

    Attributes:
        row: Its number, from 1.
        kind, why: What a bounce means (`cs.domain.mail.bounce`).
        corrected: Lookups whose result is without that e-mail from now on.
        undated: Whether a bounce without a time is taken to be of now.
        error: Why a row is bad.
    """

    row: int
    result: Result
    kind: BounceKind | None = None
    why: str | None = None
    corrected: int | None = None
    undated: bool = False
    error: str | None = None


class BounceCounts(msgspec.Struct, kw_only=True):
    """The results of many rows.

    Attributes:
        rows: Rows; of a mail, its recipients.
        bounces: Rows that report a bounce; ``ignored``: another event.
        permanent, temporary, other: Bounces by kind.
        recorded, known, not_ours, damaged: Bounces by result.
        unproven: Bounces of messages that are not known to have been sent; they change nothing.
        corrected: Results that are without an e-mail now, over all lookups.
        undated: Bounces without a time.
        bad: Rows that cannot be read; ``bad_rows``: the first, and why.
    """

    rows: int = 0
    bounces: int = 0
    ignored: int = 0
    permanent: int = 0
    temporary: int = 0
    other: int = 0
    recorded: int = 0
    known: int = 0
    unproven: int = 0
    not_ours: int = 0
    corrected: int = 0
    undated: int = 0
    bad: int = 0
    bad_rows: list[tuple[int, str]] = []
    damaged: int = 0

    def add(self, each: RowResult) -> None:
        self.rows += 1
        names = [each.result]
        if each.kind is not None:
            names += ["bounces", each.kind.value]  # type: ignore[list-item]
        for name in names:
            setattr(self, name, getattr(self, name) + 1)
        self.corrected += each.corrected or 0
        self.undated += each.undated
        if each.error is not None and len(self.bad_rows) < LISTED:
            self.bad_rows.append((each.row, each.error))


class RecordedBody(msgspec.Struct, frozen=True):
    """The results of all rows of a body."""

    counts: BounceCounts
    results: list[RowResult]


class _Delivery(NamedTuple):
    """A mailbox that a lookup had verified."""

    lookup: str
    person: str
    checked: CheckedPerson
    verified_at: datetime
    pattern: str | None


class _Judged(msgspec.Struct, frozen=True, eq=False):
    """A bounce with its row, its meaning and the fingerprint of its mailbox."""

    row: int
    bounce: Bounce
    means: BounceMeaning
    print_: str

    def became(self, result: Result, corrected: int = 0) -> RowResult:
        return RowResult(
            row=self.row,
            result=result,
            kind=self.means.kind,
            why=self.means.reason,
            corrected=corrected,
            undated=self.bounce.at is None,
        )


class BounceRecorder:
    """Records bounces, while a service runs or not.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        caused_by: The cause of what is stored.
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
        # One body at a time: threads that read others would take the interpreter from calls.
        self._reading = asyncio.Lock()

    async def record_file(
        self,
        rows: Iterator[tuple[int, Row]],
        counts: BounceCounts,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda _rows: None,
    ) -> None:
        """Record *rows*, batch by batch, and add their results to *counts*.

        Raises as `record`, and whatever *rows* raises; `BadFile` if nearly all rows are bad.
        """
        for batch in iter(lambda: list(islice(rows, BATCH)), []):
            for each in await self.record(batch, dry_run=dry_run):
                counts.add(each)
            progress(counts.rows)
            if is_hopeless(counts.rows, counts.bad):
                raise BadFile(
                    f"nearly all of its {counts.rows} rows are bad: {counts.bad_rows[-1][1]}"
                )

    async def record_body(self, body: bytes, max_rows: int) -> RecordedBody:
        """Record the bounces of *body*, JSON with at most *max_rows* rows.

        Raises as `record`, and `ValueError` if there are none or too many.
        """

        def read() -> list[tuple[int, Row]]:
            rows = list(islice(rows_in(body, self._clock.now()), max_rows + 1))
            if not rows:
                raise ValueError("there is no row")
            if len(rows) > max_rows:
                raise ValueError(f"there are more than {max_rows} rows")
            return list(enumerate(rows, 1))

        async with self._reading:
            rows = await asyncio.to_thread(read)
        done = RecordedBody(BounceCounts(), await self.record(rows))
        for each in done.results:
            done.counts.add(each)
        return done

    async def record(
        self, rows: Sequence[tuple[int, Row]], *, dry_run: bool = False
    ) -> list[RowResult]:
        """Record the bounces in *rows*; return the result of each, in their order.

        With *dry_run* nothing is stored, and the results are those to expect.

        Raises:
            LogUnavailable, KeysUnavailable: Do it again; it goes on from where it was.
        """
        results: list[RowResult] = []
        bounces: list[tuple[int, Bounce]] = []
        for number, row in rows:
            match row:
                case Bounce():
                    bounces.append((number, row))
                case Unproven():
                    results.append(RowResult(row=number, result="unproven"))
                case None:
                    results.append(RowResult(row=number, result="ignored"))
                case str():
                    results.append(RowResult(row=number, result="bad", error=row))
        # In a thread: reading the words of strangers' mail servers takes time, and a service
        # answers calls meanwhile.
        for domain, judged in (await asyncio.to_thread(self._judge, bounces)).items():
            results += await self._record_domain(domain, judged, dry_run=dry_run)
        if any(each.corrected for each in results) and not dry_run:
            await self._reflected()
        return sorted(results, key=lambda each: each.row)

    def _judge(self, bounces: Iterable[tuple[int, Bounce]]) -> dict[str, list[_Judged]]:
        """Return *bounces* by mail domain, with their meanings."""
        by_domain: dict[str, list[_Judged]] = {}
        for row, bounce in bounces:
            address = ascii_mailbox(bounce.address.strip()).lower()
            print_ = email_print(self._keys, address)
            judged = _Judged(row, bounce, bounce_meaning(bounce), print_)
            by_domain.setdefault(address.rpartition("@")[2], []).append(judged)
        return by_domain

    async def _record_domain(
        self, domain: str, bounces: Sequence[_Judged], *, dry_run: bool
    ) -> list[RowResult]:
        results: list[RowResult] = []
        ours: list[tuple[_Judged, str | None]] = []
        for judged in bounces:
            with self._damage_noted([judged], results):
                if found := await self._deliveries(judged.print_):
                    ours.append((judged, found[-1].pattern))
                else:
                    results.append(judged.became("not_ours"))
        with self._damage_noted([judged for judged, _ in ours], results):
            new = await self._report(domain, ours, dry_run=dry_run) if ours else frozenset()
            done: set[tuple[str, str]] = set()  # a dry run leaves them for the next to find
            for judged, _ in ours:
                with self._damage_noted([judged], results):
                    corrected = await self._correct_all(judged, done, dry_run=dry_run)
                    is_new = judged in new or corrected
                    results.append(
                        judged.became("recorded" if is_new else "known", len(corrected))
                    )
                    done |= corrected
        return results

    @contextmanager
    def _damage_noted(
        self, bounces: Iterable[_Judged], results: list[RowResult]
    ) -> Iterator[None]:
        """Set a damaged stream aside; *bounces* wait until it is mended."""
        try:
            yield
        except DamagedEvent as damaged:
            self._streams.set_aside.note(damaged)
            results += [judged.became("damaged") for judged in bounces]

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
        self, domain: str, ours: Sequence[tuple[_Judged, str | None]], *, dry_run: bool
    ) -> frozenset[_Judged]:
        """Report the bounces to the stream of *domain*; return those that are new to it."""
        new: dict[_Judged, BounceReported] = {}

        def decide(recorded: Sequence[RecordedEvent]) -> Sequence[BounceReported]:
            new.clear()
            before = (each.event for each in recorded)
            state = ReportedBounces.of(e for e in before if isinstance(e, MailDomainEvent))
            for judged, pattern in ours:
                command = ReportBounce(
                    mailbox=judged.print_,
                    bounced_at=judged.bounce.at,
                    status=judged.means.status,
                    kind=judged.means.kind,
                    why=judged.means.reason,
                    pattern=pattern,
                    at=self._clock.now(),
                )
                event = report_bounce(command, state)
                if event is not None:
                    new[judged] = event
                    state = state.after(event)
            return tuple(new.values())

        await self._change(f"mail-domain-{domain}", decide, dry_run=dry_run)
        return frozenset(new)

    async def _correct_all(
        self, judged: _Judged, done: set[tuple[str, str]], *, dry_run: bool
    ) -> frozenset[tuple[str, str]]:
        """Take the mailbox out of the results that show it; return them by lookup and person.

        *done* are those that were corrected before.
        """
        if judged.means.kind is not BounceKind.PERMANENT:
            return frozenset()
        return frozenset(
            [
                (delivery.lookup, delivery.person)
                for delivery in await self._deliveries(judged.print_)  # no more are added
                if (delivery.lookup, delivery.person) not in done
                and await self._correct(judged, delivery, dry_run=dry_run)
            ]
        )

    async def _correct(self, judged: _Judged, delivery: _Delivery, *, dry_run: bool) -> bool:
        def decide(recorded: Sequence[RecordedEvent]) -> Sequence[BrandEvent]:
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
            return brand.decide(command, folded(recorded))

        stream = brand.stream_of(delivery.lookup)
        return bool(await self._change(stream, decide, dry_run=dry_run))

    async def _change(
        self,
        stream: str,
        decide: Callable[[Sequence[RecordedEvent]], Sequence[AnyEvent]],
        *,
        dry_run: bool,
    ) -> Sequence[AnyEvent]:
        return await change_by_events(
            self._streams, stream, decide, self._caused_by, dry_run=dry_run
        )
