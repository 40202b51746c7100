"""People of a run who cannot be read are shown to nobody, and no work is about them."""

from datetime import UTC, datetime

from msgspec.structs import replace

from cs.domain.contact import BrandFacts, CheckedPerson, Person, Query, RankedPerson
from cs.domain.lookup.contacts import contacts_of, unsettled_candidates
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import Verdict

AT = datetime(2026, 1, 1, tzinfo=UTC)


def ranked(person: str) -> RankedPerson:
    return RankedPerson(person=person, title="Head", family="brand", level="head", score=0.5)


RUN = Lookup(
    "brand-a.1",
    Query("Acme"),
    AT,
    brand=BrandFacts(name="Acme", domain="acme.test", mail_domains=("acme.test",)),
    people=(
        Person(person="p1", full_name=""),  # the erased form
        Person(person="p2", full_name="Ben Ode", headline="Head of Brand at Acme"),
    ),
    ranked=(ranked("p1"), ranked("p2")),
)


def test_nobody_is_asked_about_who_cannot_be_read() -> None:
    candidates = unsettled_candidates(RUN, "acme.test")

    assert [candidate.person for candidate in candidates] == ["p2"]


def test_a_mailbox_without_its_person_is_no_contact() -> None:
    verified = CheckedPerson(
        person="p1",
        mail_domain="acme.test",
        verdict=Verdict.DELIVERABLE,
        address="ada@acme.test",
        verifier="listed",
    )

    shown = contacts_of(replace(RUN, checked=(verified,)))

    assert [(contact.person, contact.email) for contact in shown] == [("p2", None)]
