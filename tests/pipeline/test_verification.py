"""Whose mailbox exists, asked of mail servers and verifiers that live in this file."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from cs.domain.contact import Candidate, CheckedPerson
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict, bounce_evidence
from cs.domain.stages.work import (
    AnyFinding,
    DomainVerified,
    Failed,
    MailboxChecked,
    VerificationInput,
    Work,
)
from cs.plugins.stages import Stage
from cs.plugins.verifiers import DomainCheck
from cs.settings import Settings
from domain.acme_run import AT
from harness.outside import stage as build

YES, NO, CATCH_ALL, FULL, UNKNOWN = (
    Verdict.DELIVERABLE,
    Verdict.UNDELIVERABLE,
    Verdict.CATCH_ALL,
    Verdict.MAILBOX_FULL,
    Verdict.UNKNOWN,
)
Answer = tuple[Verdict, float | None]


@dataclass
class ScriptedVerifier:
    """A verifier that says of each address what the script has, else *otherwise*."""

    answers: dict[str, Answer] = field(default_factory=dict)
    otherwise: Answer = (NO, None)
    name: str = "scripted"
    cost: float = 0
    learned: DomainFacts = DomainFacts()
    asked: list[str] = field(default_factory=list)
    opened: list[tuple[str, DomainFacts]] = field(default_factory=list)
    closed: int = 0

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        self.opened.append((mail_domain, known))
        try:
            yield self
        finally:
            self.closed += 1

    async def check(self, address: str) -> Evidence:
        self.asked.append(address)
        verdict, retry_in_s = self.answers.get(address.partition("@")[0], self.otherwise)
        return Evidence(
            address=address,
            verdict=verdict,
            reason="scripted",
            verifier=self.name,
            at=AT,
            retry_in_s=retry_in_s,
        )


def candidate(person: str, name: str, *addresses: str) -> Candidate:
    first, _, last = name.partition(" ")
    return Candidate(
        person=person,
        full_name=name,
        first_name=first or None,
        last_name=last or None,
        addresses=addresses,
    )


ADA, BEN = candidate("p1", "Ada Kern"), candidate("p2", "Ben Ode")


async def handled(
    stage: Stage,
    *people: Candidate,
    domain: str = "acme.example",
    known: DomainFacts = DomainFacts(),
    attempt: int = 1,
    left_s: float = 0,
    progress: Callable[[AnyFinding], None] = lambda _: None,
) -> AnyFinding:
    """Return what *stage* finds out about *people* at *domain*."""

    async def report(finding: AnyFinding) -> None:
        progress(finding)

    work = Work(
        lookup="brand-a.1",
        stage="verification",
        item=domain,
        attempt=attempt,
        deadline_at=AT + timedelta(seconds=left_s),
        input=VerificationInput(domain, people, known),
    )
    return await stage.handle(work, report)


async def verify(
    *verifiers: ScriptedVerifier, people: tuple[Candidate, ...] = (ADA,), **more: Any
) -> AnyFinding:
    return await handled(build("verification", verifiers=verifiers), *people, **more)


async def checked(
    *verifiers: ScriptedVerifier, people: tuple[Candidate, ...] = (ADA,)
) -> list[CheckedPerson]:
    finding = await verify(*verifiers, people=people)
    assert isinstance(finding, DomainVerified), finding
    return list(finding.checked)


async def test_addresses_are_tried_until_one_is_deliverable() -> None:
    server = ScriptedVerifier({"akern": (YES, None)})

    (ada,) = await checked(server)

    assert (ada.verdict, ada.address, ada.verifier) == (YES, "akern@acme.example", "scripted")
    assert server.asked == ["ada.kern@acme.example", "akern@acme.example"]
    assert [e.address for e in ada.evidence] == server.asked


async def test_with_no_address_deliverable_there_is_none_and_no_pattern_is_learned() -> None:
    ben = candidate("p2", "Ben Ode", "ode.ben@acme.example")

    finding = await verify(ScriptedVerifier(), people=(ADA, ben))

    assert isinstance(finding, DomainVerified)
    assert finding.learned.pattern is None
    for found in finding.checked:
        assert (found.verdict, found.address, found.verifier) == (NO, None, None)
        assert len(found.evidence) == 6


@pytest.mark.parametrize("verdict", [CATCH_ALL, FULL, UNKNOWN])
async def test_an_answer_about_the_domain_ends_the_guessing(verdict: Verdict) -> None:
    server = ScriptedVerifier(otherwise=(verdict, None))

    (ada,) = await checked(server)

    assert ada.verdict is verdict
    assert len(server.asked) == 1


async def test_a_person_without_a_name_is_unknown() -> None:
    server = ScriptedVerifier()

    (nameless,) = await checked(server, people=(candidate("p1", ""),))

    assert (nameless.verdict, nameless.evidence, server.asked) == (UNKNOWN, (), [])


async def test_an_address_a_source_named_is_asked_first_but_never_believed() -> None:
    server = ScriptedVerifier()
    person = candidate("p1", "Ada Kern", "ada.b.kern@acme.example", "ada@elsewhere.example")

    (ada,) = await checked(server, people=(person,))

    assert server.asked[0] == "ada.b.kern@acme.example"
    assert "ada@elsewhere.example" not in server.asked
    assert ada.address is None


async def test_the_pattern_of_one_verified_person_comes_first_for_the_next() -> None:
    server = ScriptedVerifier({"kern.ada": (YES, None), "ode.ben": (YES, None)}, name="s")
    asked_for_ada = server.asked

    finding = await verify(
        server, people=(candidate("p1", "Ada Kern", "kern.ada@acme.example"), BEN)
    )

    assert asked_for_ada == ["kern.ada@acme.example", "ode.ben@acme.example"]
    assert isinstance(finding, DomainVerified)
    assert finding.learned.pattern == "last.first"


async def test_what_sources_name_shows_the_pattern_to_begin_with() -> None:
    server = ScriptedVerifier({"kern.ada": (YES, None)})
    ben = candidate("p2", "Ben Ode", "ode.ben@acme.example", "ben@elsewhere.example")

    finding = await verify(server, people=(ADA, ben))

    assert server.asked[:2] == ["kern.ada@acme.example", "ode.ben@acme.example"]
    assert isinstance(finding, DomainVerified)
    assert finding.checked[0].address == "kern.ada@acme.example"
    assert finding.learned.pattern == "last.first"


async def test_a_known_pattern_comes_first() -> None:
    server = ScriptedVerifier()

    await verify(server, known=DomainFacts(pattern="f.last"))

    assert server.asked[0] == "a.kern@acme.example"
    assert server.opened == [("acme.example", DomainFacts(pattern="f.last"))]


async def test_what_verifiers_learned_goes_with_the_result_the_cheapest_first() -> None:
    cheap = ScriptedVerifier(learned=DomainFacts(catch_all=False), otherwise=(UNKNOWN, None))
    dear = ScriptedVerifier(
        learned=DomainFacts(catch_all=True, greylists=True), otherwise=(NO, None)
    )

    finding = await verify(cheap, dear)

    assert isinstance(finding, DomainVerified)
    assert finding.learned == DomainFacts(catch_all=False, greylists=True)


# Several verifiers.


async def test_a_catch_all_is_known_although_another_does_not_know() -> None:
    (ada,) = await checked(
        ScriptedVerifier(otherwise=(CATCH_ALL, None)),
        ScriptedVerifier(otherwise=(UNKNOWN, 60.0)),
    )

    assert ada.verdict is CATCH_ALL


# Paid verifiers.


def paid(otherwise: Answer = (NO, None), **answers: Answer) -> ScriptedVerifier:
    by_local = {local.replace("_", "."): answer for local, answer in answers.items()}
    return ScriptedVerifier(by_local, otherwise, name="paid", cost=0.008)


async def test_a_paid_verifier_is_asked_only_what_the_free_ones_left_open() -> None:
    free = ScriptedVerifier({"ada.kern": (NO, None), "akern": (UNKNOWN, None)}, name="free")
    dear = paid(ada=(YES, None))

    (ada,) = await checked(free, dear)

    assert (ada.address, ada.verifier) == ("ada@acme.example", "paid")
    assert free.asked == ["ada.kern@acme.example", "akern@acme.example"]
    assert dear.asked == ["akern@acme.example", "ada@acme.example"]


@pytest.mark.parametrize("verdict", [YES, NO, FULL, CATCH_ALL])
async def test_a_paid_verifier_is_never_asked_what_is_settled(verdict: Verdict) -> None:
    dear = paid((YES, None))

    await checked(ScriptedVerifier(otherwise=(verdict, None)), dear)

    assert dear.asked == []


@pytest.mark.parametrize("without_free", [False, True])
async def test_a_mailbox_that_bounced_is_not_asked_about(*, without_free: bool) -> None:
    """As one from which mail came back; the other guesses are asked about."""
    bounced = bounce_evidence("ada.kern@acme.example", AT)
    ada = msgspec.structs.replace(ADA, settled=(bounced,))
    free, dear = ScriptedVerifier({"ada.kern": (YES, None)}, (UNKNOWN, None)), paid()

    (found,) = await checked(*([dear] if without_free else [free, dear]), people=(ada,))

    assert "ada.kern@acme.example" not in free.asked + dear.asked
    assert dear.asked
    assert bounced in found.evidence
    assert found.address is None


async def test_a_person_with_only_a_mailbox_that_bounced_costs_no_question() -> None:
    bounced = bounce_evidence("press@acme.example", AT)
    nameless = msgspec.structs.replace(
        candidate("p1", "", "press@acme.example"), first_name="Press", settled=(bounced,)
    )
    free = ScriptedVerifier(otherwise=(YES, None))

    (found,) = await checked(free, people=(nameless,))

    assert (free.asked, found.verdict, found.evidence) == ([], NO, (bounced,))


async def test_a_retry_does_not_ask_again_what_was_refused() -> None:
    server = ScriptedVerifier({"ada.kern": (NO, None)}, (UNKNOWN, 60.0))
    stage = build("verification", verifiers=[server])
    first = await handled(stage, ADA)
    asked, server.asked = server.asked, []
    server.otherwise = (NO, None)
    second = await handled(stage, ADA, attempt=2)

    assert isinstance(first, Failed)
    assert isinstance(second, DomainVerified)
    assert asked[0] == "ada.kern@acme.example"
    assert server.asked == asked[1:]
    (ada,) = second.checked
    assert [each.address for each in ada.evidence] == asked
    assert ada.verdict is NO


async def test_a_greylist_that_opens_in_time_is_waited_for_before_a_paid_call() -> None:
    dear = paid((YES, None))
    free = ScriptedVerifier(otherwise=(UNKNOWN, 60.0), name="free")

    finding = await verify(free, dear, left_s=90)

    assert isinstance(finding, Failed)
    assert (finding.retry_in_s, dear.asked) == (60.0, [])


async def test_calls_for_a_person_and_for_a_search_are_capped() -> None:
    people = tuple(candidate(f"p{a}", f"Ad{a} Ker{a}") for a in "bcdefghjklmn")
    free, dear = ScriptedVerifier(otherwise=(UNKNOWN, None)), paid()
    stage = build("verification", verifiers=[free, dear])

    for domain in ("acme.example", "acme-mail.example"):
        await handled(stage, *people, domain=domain)

    of_one = [asked for asked in dear.asked if "adb" in asked or "kerb" in asked]
    assert len(of_one) == Settings().paid_per_person
    assert len(dear.asked) == Settings().paid_per_search
    assert len(free.asked) == 24


# Coming back later.


async def test_greylisted_people_are_asked_again_and_the_others_are_settled() -> None:
    reported: list[AnyFinding] = []
    server = ScriptedVerifier(
        {"ada.kern": (UNKNOWN, 60.0), "akern": (UNKNOWN, 300.0), "ben.ode": (YES, None)}
    )

    finding = await verify(server, people=(ADA, BEN), progress=reported.append)

    assert isinstance(finding, Failed)
    assert (finding.why, finding.retryable, finding.retry_in_s) == ("try-later", True, 300.0)
    assert [c.person for c in finding.checked] == ["p1"]
    assert finding.checked[0].verdict is UNKNOWN
    assert [f.checked.person for f in reported if isinstance(f, MailboxChecked)] == ["p2"]
    assert finding.learned.pattern == "first.last"


async def test_the_soonest_person_is_worth_asking_again_for() -> None:
    server = ScriptedVerifier({"ada.kern": (UNKNOWN, 60.0), "ben.ode": (UNKNOWN, 20.0)})

    finding = await verify(server, people=(ADA, BEN))

    assert isinstance(finding, Failed)
    assert finding.retry_in_s == 20.0
    assert [c.person for c in finding.checked] == ["p1", "p2"]


async def test_without_a_verifier_nothing_can_be_said() -> None:
    finding = await verify()

    assert finding == Failed(why="no-verifier-configured", retryable=False)


async def test_a_deliverable_address_makes_up_for_a_greylisted_one() -> None:
    (ada,) = await checked(
        ScriptedVerifier({"ada.kern": (UNKNOWN, 60.0), "akern": (YES, None)})
    )

    assert ada.address == "akern@acme.example"


# Progress and ends.


async def test_everybody_settled_is_reported_as_it_comes_in_order_of_rank() -> None:
    reported: list[AnyFinding] = []

    finding = await verify(ScriptedVerifier(), people=(BEN, ADA), progress=reported.append)

    assert isinstance(finding, DomainVerified)
    assert [f.checked for f in reported if isinstance(f, MailboxChecked)] == list(
        finding.checked
    )
    assert [c.person for c in finding.checked] == ["p2", "p1"]


async def test_verifiers_are_closed_whatever_happens() -> None:
    class Broken(ScriptedVerifier):
        async def check(self, address: str) -> Evidence:
            raise RuntimeError(address)

    first, broken = ScriptedVerifier(otherwise=(UNKNOWN, None)), Broken()
    with pytest.raises(RuntimeError):
        await verify(first, broken)

    assert (first.closed, broken.closed) == (1, 1)
