"""The recorder of outcomes: it records only answers to work that was issued to their sender."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace
from structlog.testing import capture_logs

from cs.domain.brand.events import LookupFinished
from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import AnyFinding, DomainVerified, Outcome, Resolved, StageName
from domain.acme_run import HOME, STREAM, AcmeRun, checked
from pipeline.loop import LOOKUP, RECEIPTS, FailingLog, Loop, ScriptedStage, message, receipted

STAGE: StageName = "brand-resolution"
NO_MATCH = Resolved(status="no_match")
VERIFIED = DomainVerified((checked("p1", Verdict.DELIVERABLE, local="ada.kern"),))
VERIFYING = AcmeRun().verifying()


def answer(finding: AnyFinding = NO_MATCH, stage: StageName = STAGE, item: str = "") -> Outcome:
    return Outcome(lookup=LOOKUP, stage=stage, item=item, attempt=1, finding=finding)


@asynccontextmanager
async def recording(run: AcmeRun | None = None) -> AsyncIterator[Loop]:
    """Run a recorder on a log with the events of *run*."""
    loop = Loop(FailingLog())
    await loop.append(STREAM, *(run or AcmeRun()).events)
    async with loop.running(loop.recorder().run()):
        yield loop


async def test_a_forged_outcome_is_refused_and_the_stages_answer_is_recorded() -> None:
    forged = [answer(Resolved(status="ambiguous")), replace(answer(), receipt="made-up")]
    loop, stage = Loop(), ScriptedStage()
    await loop.append(STREAM, *AcmeRun().events)
    recorder = loop.recorder()
    with capture_logs() as lines:
        async with loop.running(recorder.run()):
            await loop.answer(*forged)
            letters = await loop.letters(2)
            before = [each.event for each in await loop.log.read(STREAM)]
            async with loop.running(loop.relay(), loop.stage(stage)):
                finish = await loop.event(LookupFinished)

    assert sorted(letter.value for letter in letters) == sorted(map(message, forged))
    assert {letter.headers["error"] for letter in letters} == {"ForgedOutcome"}
    assert before == AcmeRun().events
    assert finish.outcome == "no_linkedin"
    assert recorder.forged == len(forged)
    (alarm,) = [line for line in lines if line["event"] == "outcome_forged"]
    assert (alarm["log_level"], alarm["refused"]) == ("error", 1)


async def test_no_e_mail_is_made_by_a_write_to_the_topic() -> None:
    said = answer(VERIFIED, "verification", HOME)
    async with recording(VERIFYING) as loop:
        await loop.answer(said)
        await loop.letters(1)
        await loop.answer(receipted(said))
        finish = await loop.event(LookupFinished)

    assert finish.verified == 1  # answered with the receipt of the work, it is one


#: Pieces of work whose names no separator may make one.
PIECES: tuple[tuple[str, StageName, str], ...] = (
    (LOOKUP, "ranking", ""),
    (LOOKUP, "verification", ""),
    (LOOKUP, "verification", HOME),
    (LOOKUP, "verification", f"x{HOME}"),
    (f"{LOOKUP}x", "verification", HOME),
)


async def test_a_receipt_is_of_one_piece_of_work() -> None:
    others = [RECEIPTS.of(*work) for work in (*PIECES, ("brand-0a1b.2", STAGE, ""))]
    wrong = [*others, "", "x"]
    async with recording() as loop:
        await loop.answer(*(replace(answer(), receipt=receipt) for receipt in wrong))
        letters = await loop.letters(len(wrong))

    assert len(set(others)) == len(others)
    assert {letter.headers["error"] for letter in letters} == {"ForgedOutcome"}


async def test_a_verifier_that_is_not_configured_is_reported_and_proves_nothing() -> None:
    (found,) = VERIFIED.checked
    (evidence,) = found.evidence
    stranger = CheckedPerson(
        person="p1",
        mail_domain=HOME,
        verdict=Verdict.DELIVERABLE,
        address=found.address,
        verifier="nobody",
        evidence=(replace(evidence, verifier="nobody"),),
    )
    with capture_logs() as lines:
        async with recording(VERIFYING) as loop:
            said = answer(DomainVerified((stranger,)), "verification", HOME)
            await loop.answer(receipted(said))
            finish = await loop.event(LookupFinished)

    assert (finish.outcome, finish.verified) == ("no_emails", 0)
    (line,) = [line for line in lines if line["event"] == "verifier_not_configured"]
    assert line["verifiers"] == ["nobody"]


async def test_what_cannot_be_handled_is_a_dead_letter_and_the_next_is_handled() -> None:
    said = receipted(answer())
    with capture_logs() as lines:
        async with recording() as loop:
            assert isinstance(loop.log, FailingLog)
            loop.log.errors = [RuntimeError("jane@acme.example")]
            await loop.answer(said)
            (letter,) = await loop.letters(1)
            await loop.answer(said)
            await loop.event(LookupFinished)

    assert (letter.value, letter.headers["error"]) == (message(said), "RuntimeError")
    (line,) = [line for line in lines if line["event"] == "record_not_handled"]
    assert (line["topic"], line["error"]) == ("cs.outcomes.v1", "RuntimeError")
    assert "jane" not in str(lines)
