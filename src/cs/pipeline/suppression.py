"""Keeps people who asked to be forgotten out of what stages found.

Most are left out when they are sighted, by their profile or an address that a source
named.  Who is known by e-mail alone is recognised only when that very mailbox is verified;
then they are erased from everything, by what has become known of them since.  A fact of an
extra stage that is a suppressed address is left out, with the others about that person.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import msgspec
from msgspec.structs import replace

from cs.domain.causation import AnyCause
from cs.domain.contact import CheckedPerson, Person, PersonFacts, Sighting
from cs.domain.mail.mailbox import RESTRICTED
from cs.domain.mail.syntax import is_mailbox
from cs.domain.stages.table import PROGRESS
from cs.domain.stages.work import AnyFinding, FactsFound, checked_in, sightings_in, with_people
from cs.eventlog.fingerprints import email_print, fingerprints
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.sealing import key_name
from cs.keystore.port import KeyStore

#: Erases from everything the person whose mailbox has a suppressed fingerprint.  Given are
#: that, the fingerprints of all else they can be found by, the name of their data key in the
#: lookup, and what shows it.
Erase = Callable[[str, frozenset[str], str, AnyCause], Awaitable[None]]


class ScreenedFinding(msgspec.Struct, frozen=True):
    """A finding without suppressed people; ``None`` if nothing is left of it."""

    finding: AnyFinding | None
    suppressed: Mapping[str, str] = {}  # person of the lookup -> fingerprint of their mailbox


class SuppressionFilter:
    """Screens findings by the fingerprints in *keys*."""

    def __init__(self, keys: KeyStore, erase: Erase) -> None:
        self._keys = keys
        self._erase = erase

    async def screen(self, finding: AnyFinding) -> ScreenedFinding:
        """Return *finding* without anybody who is suppressed, however long keys are away."""
        prints = self._prints_in(finding)
        if not prints:
            return self._screened(finding, prints)
        gone = await retry_while_unavailable(partial(self._keys.suppressed, prints))
        return self._screened(finding, gone)

    def _screened(self, finding: AnyFinding, gone: frozenset[str]) -> ScreenedFinding:
        if isinstance(finding, FactsFound):
            people = (each for each in finding.people if gone.isdisjoint(self._facts(each)))
            return ScreenedFinding(replace(finding, people=tuple(people)))
        sightings, checked = sightings_in(finding), checked_in(finding)
        left = tuple(each for each in sightings if gone.isdisjoint(self._prints(each)))
        suppressed = self._suppressed_in(checked, gone)
        others = tuple(each for each in checked if each.person not in suppressed)
        nobody_left = bool(sightings or checked) and not (left or others)
        if nobody_left and isinstance(finding, PROGRESS):
            return ScreenedFinding(None, suppressed)
        return ScreenedFinding(with_people(finding, left, others), suppressed)

    async def erase(
        self, lookup: str, person: Person, print_: str, caused_by: AnyCause
    ) -> None:
        """Erase *person* of *lookup*, whose mailbox has the suppressed fingerprint."""
        prints = frozenset(fingerprints(self._keys, msgspec.to_builtins(person)))
        name = key_name(lookup, person.person)
        await self._erase(print_, prints, name, caused_by)

    def _prints_in(self, finding: AnyFinding) -> frozenset[str]:
        """Return the identifiers by which people in *finding* may be suppressed."""
        of_sightings = (self._prints(sighting) for sighting in sightings_in(finding))
        of_mailboxes = self._mailboxes(checked_in(finding)).values()
        about = finding.people if isinstance(finding, FactsFound) else ()
        return frozenset(chain(*of_sightings, of_mailboxes, *map(self._facts, about)))

    def _facts(self, about: PersonFacts) -> Sequence[str]:
        """Return the fingerprints of the facts that are addresses."""
        return [email_print(self._keys, x) for x in about.facts.values() if is_mailbox(x)]

    def _prints(self, sighting: Sighting) -> Iterator[str]:
        return fingerprints(self._keys, msgspec.to_builtins(sighting))

    def _mailboxes(self, checked: Iterable[CheckedPerson]) -> dict[str, str]:
        return {
            each.person: email_print(self._keys, each.address)
            for each in checked
            if each.address is not None
        }

    def _suppressed_in(
        self, checked: Sequence[CheckedPerson], gone: frozenset[str]
    ) -> dict[str, str]:
        mailboxes = self._mailboxes(checked)
        suppressed = {person: print_ for person, print_ in mailboxes.items() if print_ in gone}
        # A service may not tell of them (HTTP 451): they are suppressed from now on.
        restricted = {
            each.person: email_print(self._keys, found.address)
            for each in checked
            for found in each.evidence
            if found.reason == RESTRICTED
        }
        return {**suppressed, **restricted}
