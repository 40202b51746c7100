"""Recording bounces: on the stream of the mail domain, and on the lookups with the mailbox.

The order makes an interrupted recording complete when it is repeated:

1. The mail domain's stream says that the mailbox is refuted: no new search verifies it.
2. Each lookup's result goes on, or answers, without it.  The lookups are read after step 1: one
   whose check was stored in the meantime is among them, and one whose check is stored later
   expects the mail domain's stream at its old version (`cs.pipeline.lookups`), and loses.

Nothing is stored of a bounce of a mailbox that no search of this service returned.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

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
from cs.domain.contact import BouncedMailbox, Person
from cs.domain.mail.bounce import Bounce, BounceKind, BounceMeaning, bounce_meaning
from cs.domain.mail.patterns import pattern_of
from cs.domain.mail_domain import (
    BounceReported,
    MailDomainEvent,
    ReportBounce,
    report_bounce,
)
from cs.eventlog.fingerprints import email_print
from cs.eventlog.port import DamagedEvent, RecordedEvent
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.bounces.reading import Row, Unproven, rows_in
from cs.operations.brand_streams import (
    by_stream,
    change_by_events,
    contacts_in,
    folded,
    results_of,
)
from cs.runtime.clock import Clock

#: The cause of bounces that are posted to the admin port.
POSTED = OperatorCause(command="POST /mailboxes/bounced")
#: Characters of the mail server's words that are kept.
DIAGNOSTIC = 500
#: Bad rows that are listed one by one; of the others only their number.
LISTED = 20

#: The result of one row.  A bounce is new, was recorded before, is of no mailbox that a search
#: returned, cannot be recorded until a damaged stream is mended, or has no proof.  Other rows
#: report no bounce, or cannot be read.
Result = Literal["recorded", "known", "not_ours", "damaged", "unproven", "ignored", "bad"]


class RowResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one row.

    Attributes:
        row: Its number, from 1.
        kind, why: The meaning of a bounce (`cs.domain.mail.bounce`).
        corrected: Lookups whose result no longer has that e-mail.
        undated: Whether a bounce has no time and is taken to be of now.
        error: Why the row is bad.
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

    def add(self, results: Iterable[RowResult]) -> None:
        for each in results:
            names: list[str] = (
                [each.result]
                if each.kind is None
                else [each.result, "bounces", each.kind.value]
            )
            for name in ("rows", *names):
                setattr(self, name, getattr(self, name) + 1)
            self.corrected += each.corrected or 0
            self.undated += each.undated
            if each.error is not None and len(self.bad_rows) < LISTED:
                self.bad_rows.append((each.row, each.error))


class BounceRecorder:
    """Records bounces, while a service runs or not.

    Args:
        reflected: Returns when the views reflect all that is in the log.
        caused_by: The cause of what is stored.
        dry_run: Store nothing; results are those to expect.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
        *,
        caused_by: AnyCause,
        dry_run: bool = False,
    ) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock
        self._reflected = reflected
        self._caused_by = caused_by
        self._dry_run = dry_run
        self._reading = asyncio.Lock()  # threads that read take the interpreter from calls
        # The effect of the rows before in a dry run: reports by stream, and corrections.
        self._reported: dict[str, list[BounceReported]] = {}
        self._corrected: set[tuple[str, str]] = set()

    async def record_body(self, body: bytes, max_rows: int) -> Mapping[str, Any]:
        """Record the bounces of *body*, JSON with at most *max_rows* rows.

        Returns counts and the results of all rows.  Raises as `record`, and `ValueError` if
        there are none or too many.
        """

        def read() -> list[Row]:
            return list(islice(rows_in(body, self._clock.now()), max_rows + 1))

        async with self._reading:
            rows = await asyncio.to_thread(read)  # a service answers calls meanwhile
        if not rows:
            raise ValueError("there is no row")
        if len(rows) > max_rows:
            raise ValueError(f"there are more than {max_rows} rows")
        results, counts = await self.record(list(enumerate(rows, 1))), BounceCounts()
        counts.add(results)
        return {"counts": counts, "results": results}

    async def record(self, rows: Sequence[tuple[int, Row]]) -> list[RowResult]:
        """Record the bounces in *rows*; return the result of each, in their order.

        Raises:
            LogUnavailable, KeysUnavailable: Do it again; it goes on from where it was.
        """
        results = [await self._record_row(*row) for row in rows]
        if any(each.corrected for each in results) and not self._dry_run:
            await self._reflected()
        return results

    async def _record_row(self, number: int, row: Row) -> RowResult:
        match row:
            case Bounce():
                # In a thread: the words of mail servers take time to read, and a service
                # answers calls meanwhile.
                means = await asyncio.to_thread(bounce_meaning, row)
                result, corrected = await self._record_bounce(row, means)
                return RowResult(
                    row=number,
                    result=result,
                    kind=means.kind,
                    why=means.reason,
                    corrected=corrected,
                    undated=row.at is None,
                )
            case Unproven():
                return RowResult(row=number, result="unproven")
            case None:
                return RowResult(row=number, result="ignored")
            case str():
                return RowResult(row=number, result="bad", error=row)

    async def _record_bounce(self, bounce: Bounce, means: BounceMeaning) -> tuple[Result, int]:
        """Record *bounce*; return the result, and in how many lookups it is corrected."""
        print_ = email_print(self._keys, bounce.address)
        corrected = 0
        try:
            found = await self._deliveries(print_)
            if not found:
                return "not_ours", 0
            new = await self._report(bounce, means, print_, found[-1][1])
            if means.kind is BounceKind.PERMANENT:
                for verified, _ in await self._deliveries(print_):
                    corrected += await self._correct(bounce, means, verified)
        except DamagedEvent as damaged:  # the bounce waits until that stream is mended
            self._streams.set_aside.note(damaged)
            return "damaged", 0
        return ("recorded" if new or corrected else "known"), corrected

    async def _deliveries(self, print_: str) -> Sequence[tuple[MailboxVerified, str | None]]:
        """Return where the mailbox *print_* was verified, and the pattern of its address."""
        names = await self._keys.matching([print_])
        found: list[tuple[MailboxVerified, str | None]] = []
        for stream, people in by_stream(names).items():
            who: dict[tuple[str, str], Person] = {}
            for recorded in await self._streams.log.read(stream):
                match recorded.event:
                    case PeopleFound() | ContactsDiscovered() as event:
                        who |= {(event.lookup, each.person): each for each in event.people}
                    case MailboxVerified(lookup=lookup, checked=checked) as event if (
                        checked.person in people.get(lookup, ())
                        and checked.address is not None
                        and email_print(self._keys, checked.address) == print_
                    ):
                        person = who.get((lookup, checked.person))
                        names_of = (person.first_name, person.last_name) if person else ("", "")
                        found.append((event, pattern_of(checked.address, *names_of)))
                    case _:
                        pass
        return found

    async def _report(
        self, bounce: Bounce, means: BounceMeaning, print_: str, pattern: str | None
    ) -> bool:
        """Report the bounce to the stream of its mail domain; return whether it is new."""
        stream = f"mail-domain-{bounce.address.rpartition('@')[2]}"

        def decide(recorded: Sequence[RecordedEvent]) -> Sequence[BounceReported]:
            before = [e.event for e in recorded if isinstance(e.event, MailDomainEvent)]
            command = ReportBounce(
                mailbox=print_,
                bounced_at=bounce.at,
                status=means.status,
                kind=means.kind,
                why=means.reason,
                pattern=pattern,
                at=self._clock.now(),
            )
            return report_bounce(command, [*before, *self._reported.get(stream, ())])

        events = await change_by_events(
            self._streams, stream, decide, self._caused_by, dry_run=self._dry_run
        )
        if self._dry_run:
            self._reported.setdefault(stream, []).extend(events)
        return bool(events)

    async def _correct(
        self, bounce: Bounce, means: BounceMeaning, verified: MailboxVerified
    ) -> bool:
        """Take the mailbox out of the result of a lookup; return whether it was in it."""
        checked, now = verified.checked, self._clock.now()

        def decide(recorded: Sequence[RecordedEvent]) -> Sequence[BrandEvent]:
            results = results_of(recorded, verified.lookup)
            command = RecordBounce(
                lookup=verified.lookup,
                bounced=BouncedMailbox(
                    person=checked.person,
                    address=checked.address or "",
                    diagnostic=bounce.diagnostic[:DIAGNOSTIC],
                ),
                bounced_at=bounce.at or now,
                status=means.status,
                why=means.reason,
                checked=checked,
                verified_at=verified.at,
                contacts=contacts_in(results[-1]) if results else (),
                at=now,
            )
            return brand.decide(command, folded(recorded))

        corrected = (verified.lookup, checked.person)
        if corrected in self._corrected:
            return False
        stream = brand.stream_of(verified.lookup)
        events = await change_by_events(
            self._streams, stream, decide, self._caused_by, dry_run=self._dry_run
        )
        if events and self._dry_run:
            self._corrected.add(corrected)
        return bool(events)
