"""Answers that no stage may give are refused, and the reason names nobody."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, CheckedPerson, RankedPerson
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.stages.refused import wrong_result
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    PeopleSeen,
    RankingDone,
    RankingInput,
    StageInput,
    VerificationInput,
    Work,
)

AT = datetime(2026, 11, 24, tzinfo=UTC)
JANE = RankedPerson(
    person="p1", title="Head of Social", family="social", level="head", score=1.0
)
FOUND = Evidence(
    address="jane@acme.test",
    verdict=Verdict.DELIVERABLE,
    reason="accepted",
    verifier="shop",
    at=AT,
)
CHECKED = CheckedPerson(
    person="p1",
    mail_domain="acme.test",
    verdict=Verdict.DELIVERABLE,
    address="jane@acme.test",
    verifier="shop",
    evidence=(FOUND,),
)


def work(given: StageInput) -> Work:
    is_ranking = isinstance(given, RankingInput)
    return Work(
        lookup="brand-a.1",
        stage="ranking" if is_ranking else "verification",
        item="" if is_ranking else "acme.test",
        attempt=1,
        deadline_at=AT,
        input=given,
    )


RANKING = work(RankingInput(BrandFacts(name="Acme"), ()))
VERIFICATION = work(VerificationInput("acme.test", ()))


def with_evidence(**changed: object) -> DomainVerified:
    evidence = (replace(FOUND, **changed),)
    return DomainVerified((replace(CHECKED, evidence=evidence),))


@pytest.mark.parametrize(
    ("finding", "asked", "why"),
    [
        (RankingDone(ranked=(JANE,)), RANKING, None),
        (Failed(why="away", retryable=True), RANKING, None),
        (DomainVerified((CHECKED,)), VERIFICATION, None),
        (Discovered(people=()), RANKING, "Discovered, a finding of contact-discovery, not"),
        (PeopleSeen(people=()), VERIFICATION, "PeopleSeen, a finding of contact-discovery"),
        (RankingDone(ranked=(replace(JANE, family="x"),)), RANKING, "ranked[0].family"),
        (RankingDone(ranked=(JANE, replace(JANE, level="x"))), RANKING, "ranked[1].level"),
        (DomainVerified((replace(CHECKED, mail_domain="b.test"),)), VERIFICATION, "another"),
        (with_evidence(address="jane@b.test"), VERIFICATION, "at another mail domain"),
        (with_evidence(address="ann@acme.test"), VERIFICATION, "is verified without evidence"),
        (with_evidence(verifier="smtp"), VERIFICATION, "is verified without evidence"),
        (with_evidence(at=AT.replace(tzinfo=None)), VERIFICATION, "without a time zone"),
    ],
)
def test_what_no_stage_may_answer_is_refused(
    finding: AnyFinding, asked: Work, why: str | None
) -> None:
    said = wrong_result(finding, asked)

    if why is None:
        assert said is None
    else:
        assert said is not None
        assert why in said
        assert "jane" not in said.lower()
