"""What is left of a stage's finding when some of its people are suppressed."""

from datetime import UTC, datetime

import pytest

from cs.domain.causation import MessageCause
from cs.domain.contact import CheckedPerson, Person, Sighting
from cs.domain.mail.mailbox import RESTRICTED, Evidence, Verdict
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    Resolved,
)
from cs.eventlog.fingerprints import email_print, name_print, profile_print
from cs.keystore.memory import MemoryKeyStore
from cs.pipeline.suppression import ScreenedFinding, SuppressedPerson, SuppressionFilter
from domain.acme_run import ADA, BEN, HOME, ranked, sighting

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


class Suppressed:
    def __init__(self) -> None:
        self.keys = MemoryKeyStore()
        self.suppressed: list[SuppressedPerson] = []

        async def erase(met: SuppressedPerson) -> None:
            self.suppressed.append(met)

        self.suppressing = SuppressionFilter(self.keys, erase)

    async def screen(self, finding: AnyFinding) -> ScreenedFinding:
        (screened,) = await self.suppressing.screen([finding])
        return screened


@pytest.fixture
async def suppressed() -> Suppressed:
    """Return what keeps out Ada's profile and mailbox, Cid at Acme, and Dot's mailbox."""
    made = Suppressed()
    prints = [
        profile_print(made.keys, "https://www.linkedin.com/in/Ada-Kern"),
        email_print(made.keys, f"ada.kern@{HOME}"),
        email_print(made.keys, f"dot.ash@{HOME}"),
        name_print(made.keys, "cid fell", "ACME"),
    ]
    await made.keys.suppress(prints)
    return made


@pytest.mark.parametrize("gone", [ADA, UNLINKED, NAMED], ids=["profile", "name", "mailbox"])
async def test_who_is_suppressed_was_not_sighted(
    suppressed: Suppressed, gone: Sighting
) -> None:
    seen = await suppressed.screen(PeopleSeen(people=(gone, BEN)))
    found = await suppressed.screen(Discovered(people=(BEN, gone), conclusive=False))

    assert seen.finding == PeopleSeen(people=(BEN,))
    assert found.finding == Discovered(people=(BEN,), conclusive=False)


async def test_a_sighting_of_nobody_else_says_nothing_and_a_result_that_there_is_nobody(
    suppressed: Suppressed,
) -> None:
    assert (await suppressed.screen(PeopleSeen(people=(ADA,)))).finding is None
    found = await suppressed.screen(Discovered(people=(ADA,)))
    assert found.finding == Discovered(people=())


async def test_a_namesake_with_a_profile_is_sighted(suppressed: Suppressed) -> None:
    finding = PeopleSeen(people=(sighting("Cid Fell"),))

    assert (await suppressed.screen(finding)).finding == finding


async def test_a_suppressed_mailbox_says_who_it_is_and_is_not_reported(
    suppressed: Suppressed,
) -> None:
    met = {"p1": email_print(suppressed.keys, f"ada.kern@{HOME}")}

    assert await suppressed.screen(MailboxChecked(checked=PROVED)) == ScreenedFinding(None, met)
    assert await suppressed.screen(DomainVerified((PROVED, OTHER))) == ScreenedFinding(
        DomainVerified((OTHER,)), met
    )
    failed = Failed(why="try-later", retryable=True, checked=(OTHER, PROVED))
    assert await suppressed.screen(failed) == ScreenedFinding(
        Failed(why="try-later", retryable=True, checked=(OTHER,)), met
    )


async def test_of_whom_a_service_may_not_tell_is_suppressed(suppressed: Suppressed) -> None:
    """HTTP 451 of a verifier: they asked it to forget them."""
    address = f"ben.ode@{HOME}"
    found = Evidence(
        address=address, verdict=Verdict.UNKNOWN, reason=RESTRICTED, verifier="hunter", at=AT
    )
    ben = CheckedPerson(
        person="p2", mail_domain=HOME, verdict=Verdict.UNKNOWN, evidence=(found,)
    )

    screened = await suppressed.screen(DomainVerified((THIRD, ben)))

    assert screened.suppressed == {"p2": email_print(suppressed.keys, address)}
    assert screened.finding == DomainVerified((THIRD,))


@pytest.mark.parametrize(
    "finding",
    [
        Alive(),
        Resolved(status="no_match"),
        RankingDone((ranked("p1"),)),
        MailboxChecked(checked=OTHER),
        DomainVerified((OTHER,)),
        Discovered(people=(BEN,)),
        Failed(why="bug", retryable=False),
    ],
    ids=lambda finding: type(finding).__name__,
)
async def test_everything_else_is_as_it_was(
    suppressed: Suppressed, finding: AnyFinding
) -> None:
    assert await suppressed.screen(finding) == ScreenedFinding(finding)


async def test_whom_a_mailbox_led_to_is_erased_by_all_they_are_known_by(
    suppressed: Suppressed,
) -> None:
    person = Person(person="p1", full_name="Ada Kern", linkedin_url=ADA.linkedin_url)

    await suppressed.suppressing.erase("brand-a.1", person, "f1", CAUSE)

    profile = profile_print(suppressed.keys, ADA.linkedin_url or "")
    assert suppressed.suppressed == [
        SuppressedPerson("f1", frozenset({profile}), "brand-a.1#p1", CAUSE)
    ]


@pytest.mark.parametrize("written", ["JO@MÜNCHEN.example", " jo@xn--mnchen-3ya.example\n"])
def test_one_mailbox_has_one_fingerprint_however_it_is_written(written: str) -> None:
    keys = MemoryKeyStore()

    assert email_print(keys, written) == email_print(keys, "jo@münchen.example")
