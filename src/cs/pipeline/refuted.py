"""Which mailboxes are refuted: mail to them came back lately."""

from collections.abc import Iterable
from typing import NamedTuple

from cs.domain.contact import CheckedPerson, Person
from cs.domain.mail.mailbox import Evidence, Verdict, bounce_evidence
from cs.domain.mail.patterns import candidates
from cs.domain.mail_domain import MailDomain
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import Fingerprinter, email_print
from cs.eventlog.port import Append
from cs.eventlog.streams import Streams
from cs.runtime.clock import Clock

#: Addresses of one person that are looked up: all that any pattern makes of a name.
_GUESSES = 1_000
#: Of them refuted ones that go with the work (`cs.domain.stages.limits`); the likeliest first.
_REFUTED = 20


class Refuted(NamedTuple):
    """What mail came back from.

    Attributes:
        addresses: That no check of now can prove.
        unmoved: The streams that say so of deliverable ones, as they were read: a bounce
            that is recorded in the meantime moves one of them.
    """

    addresses: frozenset[str]
    unmoved: tuple[Append, ...]


class RefutedMailboxes:
    """Asks the streams of mail domains, which know mailboxes by keyed hashes of *keys*."""

    def __init__(self, streams: Streams, keys: Fingerprinter, clock: Clock) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock

    async def among(self, checked: Iterable[CheckedPerson]) -> Refuted:
        """Return what is refuted of the addresses in *checked*.

        Raises:
            LogUnavailable: The log cannot be read now.
            NewerEvent: A newer version wrote some of what it says.
        """
        by_domain: dict[str, list[CheckedPerson]] = {}
        for each in checked:
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
            if folded.state.bounced:
                addresses = (each.address for each in people if each.address is not None)
                refuted |= {each for each in addresses if self._refutes(folded.state, each)}
        return Refuted(frozenset(refuted), tuple(unmoved))

    def _refutes(self, domain: MailDomain, address: str) -> bool:
        return domain.refutes(email_print(self._keys, address), self._clock.now())

    def of_people(
        self, people: Iterable[Person], mail_domain: str, state: MailDomain
    ) -> dict[str, tuple[Evidence, ...]]:
        """Return by person what refutes addresses that *people* may have at *mail_domain*.

        Args:
            people: Of one lookup.
            mail_domain: Lower-case.
            state: What is known of it.
        """
        if not state.bounced:
            return {}
        now = self._clock.now()
        refuted = {}
        for who in people:
            guesses = candidates(
                who.first_name,
                who.last_name,
                mail_domain,
                named=who.addresses,
                limit=_GUESSES,
            )
            found = tuple(
                bounce_evidence(address, now)
                for address, _ in guesses
                if state.refutes(email_print(self._keys, address), now)
            )
            if found:
                refuted[who.person] = found[:_REFUTED]
        return refuted
