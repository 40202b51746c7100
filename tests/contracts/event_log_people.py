"""How every event log keeps people: sealed, each under a key that can be destroyed."""

import json
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from cs.domain.brand.events import LookupFinished, MailboxVerified, PeopleFound
from cs.domain.mail.mailbox import Verdict
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.keystore.port import KeyStore
from domain.golden_files import golden_event
from harness.memory_keys import MemoryKeyStore


class NoRoom(MemoryKeyStore):
    """A key store whose disk is full."""

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        del names
        raise OSError(28, "no space left on device")


class PeopleContract:
    """Inherit, and give the fixtures ``keys`` and ``log``, an empty log that uses them."""

    async def test_who_was_erased_reads_as_nobody_and_the_rest_as_before(
        self, log: EventLog, keys: KeyStore
    ) -> None:
        finished = golden_event("brand.lookup-finished.v1")
        found = golden_event("brand.people-found.v1")
        verified = golden_event("brand.mailbox-verified.v1")
        assert isinstance(finished, LookupFinished)
        await log.append([Append("brand-5f0c", NO_STREAM, [found, verified, finished])])

        await keys.destroy([f"{finished.lookup}#p1"])

        people, mailbox, end = [r.event for r in await log.read("brand-5f0c")]
        assert isinstance(people, PeopleFound)
        assert [(p.person, p.full_name, p.linkedin_url) for p in people.people] == [
            ("p1", "", None)
        ]
        assert isinstance(mailbox, MailboxVerified)
        assert mailbox.checked.verdict is Verdict.UNKNOWN
        assert (mailbox.checked.address, mailbox.checked.evidence) == (None, ())
        assert isinstance(end, LookupFinished)
        erased, other = end.contacts
        assert {erased.full_name, erased.email, erased.headline, erased.linkedin_url} == {None}
        assert other == finished.contacts[1]
        assert (end.outcome, end.verified, end.brand) == ("done", 1, finished.brand)

    async def test_who_was_erased_before_is_not_stored_again(
        self, log: EventLog, keys: KeyStore
    ) -> None:
        found = golden_event("brand.people-found.v1")
        assert isinstance(found, PeopleFound)
        await keys.destroy([f"{found.lookup}#p1"])

        await log.append([Append("brand-5f0c", NO_STREAM, [found])])

        (read,) = await log.read("brand-5f0c")
        assert isinstance(read.event, PeopleFound)
        assert read.event.people[0].full_name == ""

    async def test_one_key_seals_one_person_of_one_lookup(
        self, log: EventLog, keys: KeyStore
    ) -> None:
        finished = golden_event("brand.lookup-finished.v1")
        assert isinstance(finished, LookupFinished)
        later = replace(finished, lookup="brand-5f0c.2")
        await log.append([Append("brand-5f0c", NO_STREAM, [finished, later])])

        await keys.destroy([f"{finished.lookup}#p1"])

        _, untouched = [r.event for r in await log.read("brand-5f0c")]
        assert untouched == later
        names = [
            f"{lookup}#{p}" for lookup in (finished.lookup, later.lookup) for p in ("p1", "p2")
        ]
        opened = await keys.find(names)
        assert set(opened) == set(names[1:])
        assert len(set(opened.values())) == 3

    async def test_what_is_reported_as_it_is_stored_has_people_sealed(
        self, log: EventLog
    ) -> None:
        found = golden_event("brand.people-found.v1")
        await log.append([Append("brand-5f0c", NO_STREAM, [found])])

        ((_, stream, _, topic, state),) = await log.stored(0)

        (person,) = json.loads(state)["people"]
        assert (stream, topic) == ("brand-5f0c", "brand.people-found.v1")
        assert {**person, "box": ""} == {"sealed": "person", "person": "p1", "box": ""}
        assert b"Quillfeather" not in state
