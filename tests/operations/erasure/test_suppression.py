"""What is left of a stage's finding when some of its people are suppressed."""

from datetime import UTC, datetime

import pytest

from cs.domain.causation import MessageCause
from cs.domain.contact import CheckedPerson, Person, PersonFacts
from cs.domain.mail.mailbox import RESTRICTED, Evidence, Verdict
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    Discovered,
    DomainVerified,
    FactsFound,
    Failed,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    Resolved,
)
from cs.eventlog.fingerprints import email_print, name_print, profile_print
from cs.pipeline.suppression import ScreenedFinding, SuppressionFilter
from domain.acme_run import ADA, BEN, HOME, ranked, sighting
from harness.memory_keys import MemoryKeyStore

AT = datetime(2026, 1, 1, tzinfo=UTC)
CAUSE = MessageCause(topic="cs.outcomes.v1", id="brand-a.1/verification//1/x", attempt=1)
UNLINKED = sighting("Cid Fell", linkedin_url=None)
NAMED = sighting("Dot Ash", addresses=("Dot.Ash@Acme.Example",))
PROVED = CheckedPerson(
    person="p1",
    mail_domain=HOME,
    verdict=Verdict.DELIVERABLE,
    address=f"ada.kern@{HOME}",
    verifier="smtp",
)
THIRD = CheckedPerson(person="p3", mail_domain=HOME, verdict=Verdict.UNDELIVERABLE)
OTHER = CheckedPerson(person="p2", mail_domain=HOME, verdict=Verdict.UNDELIVERABLE)


KEYS = MemoryKeyStore()
ADA_MET = {"p1": email_print(KEYS, f"ada.kern@{HOME}")}
#: HTTP 451 of a verifier about somebody: they asked it to forget them.
RESTRICTED_BEN = CheckedPerson(
    person="p2",
    mail_domain=HOME,
    verdict=Verdict.UNKNOWN,
    evidence=(
        Evidence(
            address=f"ben.ode@{HOME}",
            verdict=Verdict.UNKNOWN,
            reason=RESTRICTED,
            verifier="hunter",
            at=AT,
        ),
    ),
)


def fact(person: str, text: str) -> PersonFacts:
    return PersonFacts(person=person, facts={"fact": text})


#: A finding and what is left of it; of one finding, nothing is to be changed.
SCREENED: list[tuple[AnyFinding, ScreenedFinding] | AnyFinding] = [
    *[
        (PeopleSeen(people=(gone, BEN)), ScreenedFinding(PeopleSeen(people=(BEN,))))
        for gone in (ADA, UNLINKED, NAMED)
    ],
    (
        Discovered(people=(BEN, ADA), conclusive=False),
        ScreenedFinding(Discovered(people=(BEN,), conclusive=False)),
    ),
    (PeopleSeen(people=(ADA,)), ScreenedFinding(None)),
    (Discovered(people=(ADA,)), ScreenedFinding(Discovered(people=()))),
    (MailboxChecked(checked=PROVED), ScreenedFinding(None, ADA_MET)),
    (
        DomainVerified((PROVED, OTHER)),
        ScreenedFinding(DomainVerified((OTHER,)), ADA_MET),
    ),
    (
        Failed(why="try-later", retryable=True, checked=(OTHER, PROVED)),
        ScreenedFinding(Failed(why="try-later", retryable=True, checked=(OTHER,)), ADA_MET),
    ),
    (
        DomainVerified((THIRD, RESTRICTED_BEN)),
        ScreenedFinding(DomainVerified((THIRD,)), {"p2": email_print(KEYS, f"ben.ode@{HOME}")}),
    ),
    (
        FactsFound(people=(fact("p1", f"Ada.Kern@{HOME}"), fact("p2", "likes Ada"))),
        ScreenedFinding(FactsFound(people=(fact("p2", "likes Ada"),))),
    ),
    PeopleSeen(people=(sighting("Cid Fell"),)),  # a namesake with a profile
    Alive(),
    Resolved(status="no_match"),
    RankingDone((ranked("p1"),)),
    MailboxChecked(checked=OTHER),
    DomainVerified((OTHER,)),
    Discovered(people=(BEN,)),
    Failed(why="bug", retryable=False),
]


async def test_findings_lose_the_people_who_are_suppressed() -> None:
    async def erase(*_: object) -> None:
        raise AssertionError

    await KEYS.suppress(
        [
            profile_print(KEYS, "https://www.linkedin.com/in/Ada-Kern"),
            email_print(KEYS, f"ada.kern@{HOME}"),
            email_print(KEYS, f"dot.ash@{HOME}"),
            name_print(KEYS, "cid fell", "ACME"),
        ]
    )
    every = [
        each if isinstance(each, tuple) else (each, ScreenedFinding(each)) for each in SCREENED
    ]

    keeps_out = SuppressionFilter(KEYS, erase)

    assert [await keeps_out.screen(finding) for finding, _ in every] == [
        expected for _, expected in every
    ]


async def test_a_person_found_by_a_mailbox_is_erased_by_all_their_fingerprints() -> None:
    met: list[tuple[object, ...]] = []

    async def erase(*person: object) -> None:
        met.append(person)

    person = Person(person="p1", full_name="Ada Kern", linkedin_url=ADA.linkedin_url)

    await SuppressionFilter(KEYS, erase).erase("brand-a.1", person, "f1", CAUSE)

    profile = profile_print(KEYS, ADA.linkedin_url or "")
    assert met == [("f1", frozenset({profile}), "brand-a.1#p1", CAUSE)]


@pytest.mark.parametrize("written", ["JO@MÜNCHEN.example", " jo@xn--mnchen-3ya.example\n"])
def test_one_mailbox_has_one_fingerprint_however_it_is_written(written: str) -> None:
    keys = MemoryKeyStore()

    assert email_print(keys, written) == email_print(keys, "jo@münchen.example")
