"""The lookups of the log: their brands read and changed, however long the log is away."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec.structs import replace
from structlog import get_logger

from cs.domain.brand import brand
from cs.domain.brand.brand import Brand, Finish, stream_of
from cs.domain.brand.events import LookupCommand, LookupFinished, RecordFinding
from cs.domain.causation import AnyCause
from cs.domain.cause import fault
from cs.domain.codec import AnyEvent
from cs.domain.contact import CheckedPerson
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import Evidence, Verdict, bounce_evidence
from cs.domain.mail.patterns import candidates
from cs.domain.mail.syntax import is_mail_domain
from cs.domain.mail_domain import KnownDomain, MailDomain
from cs.domain.refusal import Refusal
from cs.domain.stages.work import AnyFinding, checked_in
from cs.eventlog.fingerprints import Fingerprinter, email_print
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NO_STREAM, Append, DamagedEvent
from cs.eventlog.streams import Prepared, Streams
from cs.runtime.clock import Clock

log = get_logger()

#: Events of a brand read at once when the end of a lookup is no longer remembered.
PAGE = 500
#: Addresses of one person that are looked up: all that any pattern makes of a name.
_GUESSES = 1_000
#: Of them refuted ones that go with the work (`cs.domain.stages.limits`); the likeliest first.
_REFUTED = 20

Decide = Callable[[Any], Sequence[AnyEvent]]


def with_damage_check(stream: str, decide: Decide) -> Decide:
    """Return *decide* for the state of *stream*, whatever was folded into that.

    What can be read may still be nothing that anybody wrote.

    Raises:
        DamagedEvent: From what is returned: *decide* cannot be followed through.
        Refusal: From *decide*.
    """

    def checked(state: Any) -> Sequence[AnyEvent]:
        try:
            return decide(state)
        except Refusal:
            raise
        except Exception as error:
            log.error("stream_makes_no_sense", **fault(error))  # noqa: TRY400
            why = f"{stream} makes no sense: {type(error).__name__}"
            raise DamagedEvent(0, stream, 0, why) from error

    return checked


class Lookups:
    """Reads and changes.

    Args:
        keys: By their keyed hashes mail domains know the mailboxes that mail came back from;
            without them it came back from none.

    Raises:
        DamagedEvent: From every method: the lookup's stream cannot be read, and is set aside.
        NewerEvent: From every method: a newer version wrote some of it.
    """

    def __init__(
        self, streams: Streams, clock: Clock, keys: Fingerprinter | None = None
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._keys = keys

    async def brand(self, lookup: str) -> Brand:
        """Return the brand of *lookup* as it is now."""
        return (
            await retry_while_unavailable(partial(self._streams.brand, stream_of(lookup)))
        ).state

    async def finish(self, lookup: str) -> Finish | None:
        """Return how *lookup* ended; ``None`` if it runs."""
        remembered = self._streams.remembered(stream_of(lookup))
        if remembered is not None and (found := remembered.state.finish_of(lookup)) is not None:
            return cast(Finish, found)  # how it ended never changes
        state = await self.brand(lookup)
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

    async def known(self, lookup: str) -> dict[str, KnownDomain]:
        """Return what is known of the mail domains of *lookup*, if it runs, by domain."""
        live = await self._resolved(lookup)
        if live is None or live.brand is None:
            return {}
        known = {}
        for domain in live.brand.mail_domains:
            if not is_mail_domain(domain):
                continue  # of an event from before this was looked at: no stream has that name
            try:
                folded = await retry_while_unavailable(
                    partial(self._streams.mail_domain, domain)
                )
            except DamagedEvent:
                continue  # it is set aside; not to know only costs a probe
            facts = folded.state.known(self._clock.now())
            settled = await self._settled(lookup, domain, folded.state)
            known[domain] = KnownDomain(facts, settled)
        return known

    async def _settled(
        self, lookup: str, mail_domain: str, state: MailDomain
    ) -> Mapping[str, tuple[Evidence, ...]]:
        """Return by person what refutes addresses that they may have at *mail_domain*."""
        if not state.bounced:
            return {}
        live = (await self.brand(lookup)).live
        now, settled = self._clock.now(), {}
        for who in live.people if live else ():
            guesses = candidates(
                who.first_name,
                who.last_name,
                mail_domain,
                named=who.addresses,
                limit=_GUESSES,
            )
            refuted = [each for each, _ in guesses if self._refutes(state, each)]
            if refuted:
                found = tuple(bounce_evidence(each, now) for each in refuted[:_REFUTED])
                settled[who.person] = found
        return settled

    async def _refuted(self, finding: AnyFinding) -> tuple[frozenset[str], Sequence[Append]]:
        """Return the addresses in *finding* that mail came back from: no check proves them.

        With them the streams that say so of deliverable ones, as they were read: a bounce
        that is recorded in the meantime moves one of them.

        Raises:
            LogUnavailable: The log cannot be read now.
        """
        if self._keys is None:
            return frozenset(), ()
        by_domain: dict[str, list[CheckedPerson]] = {}
        for each in checked_in(finding):
            if each.address is not None:
                by_domain.setdefault(each.address.rpartition("@")[2], []).append(each)
        refuted: set[str] = set()
        unmoved: list[Append] = []
        for domain, people in by_domain.items():
            try:
                folded = await self._streams.mail_domain(domain)
            except DamagedEvent:
                continue  # it is set aside, as what is known of its servers
            if any(each.verdict is Verdict.DELIVERABLE for each in people):
                unmoved.append(Append(f"mail-domain-{domain}", folded.version, ()))
            addresses = {each.address for each in people if each.address is not None}
            refuted |= {each for each in addresses if self._refutes(folded.state, each)}
        return frozenset(refuted), unmoved

    def _refutes(self, domain: MailDomain, address: str) -> bool:
        if self._keys is None or not domain.bounced:
            return False
        return domain.refutes(email_print(self._keys, address), self._clock.now())

    async def change(self, command: LookupCommand, caused_by: AnyCause) -> None:
        """Record *command* on its lookup's brand; what was recorded before changes nothing.

        A finding is recorded without the mailboxes that mail came back from.
        """
        stream = stream_of(command.lookup)

        async def prepare() -> Prepared:
            now: LookupCommand = command
            unmoved: Sequence[Append] = ()
            if isinstance(command, RecordFinding):
                refuted, unmoved = await self._refuted(command.finding)
                now = replace(command, refuted=refuted)
            decide = with_damage_check(stream, partial(brand.decide, now))
            return Prepared(decide, unmoved)

        await retry_while_unavailable(
            lambda: self._streams.change_by_others(stream, prepare, caused_by=caused_by)
        )

    async def _resolved(self, lookup: str) -> Lookup | None:
        """Return *lookup* with the brand that it matched, if it runs."""
        remembered = self._streams.remembered(stream_of(lookup))
        if remembered is not None:
            live: Lookup | None = remembered.state.live
            if live is not None and live.id == lookup and live.brand is not None:
                return live  # which brand it is never changes
        return (await self.brand(lookup)).live
