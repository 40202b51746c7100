"""The stages of a run: which attempts were made, how each ended, and who was asked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from cs.domain.causation import AnyCause
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.opinions import SOURCE
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import StageName
from cs.history.runs import AttemptEnd, Run, RunAttempt, SourcesEnd
from cs.paid_calls.budgets.port import MICROS

#: How the run of a source ended that got an answer.
_ANSWERED = frozenset({"used", "no_results"})


class ShownAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt.

    Attributes:
        position: Of the event that issued it.
        attempt: Counts from 1.
        took_s: Seconds; ``None``: it goes on.
        after_silence, after_restart: Why it was made again, if not for a failure.
        why, causes: Of a failed one, the latter by source.
        retry_at: Of a failed one: when the next one was to follow.
        caused_by, end_caused_by: What led to its being issued, and to the event that says
            that it ended; ``None``: not known.
    """

    position: int
    attempt: int
    issued_at: datetime
    deadline_at: datetime
    ended_at: datetime | None
    took_s: float | None
    end: AttemptEnd
    why: str | None
    retry_at: datetime | None
    after_silence: bool
    after_restart: bool
    causes: Mapping[str, str]
    caused_by: AnyCause | None
    end_caused_by: AnyCause | None


class SourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """A source or a verifier that a stage asked.

    Attributes:
        ended: Of a source: how.
        why: Why it could not answer.
        questions: Of a verifier: addresses it was asked about; of a source not recorded.
        answers: Questions that it answered, as far as the log tells: one of a source.
        calls: Calls to a service that charges, made for them; ``None``: not recorded.
        used: What the stage went on with of what it gave; ``None``: not recorded.
        cost: By the price that was given, of the questions answered; else what the log has, in
            US dollars; ``None``: neither.
        expected: What a verified e-mail from it was expected to cost, in US dollars, when the
            order of asking was made.
    """

    name: str
    ended: str | None = None
    why: str | None = None
    questions: int | None = None
    answers: int = 0
    calls: int | None = None
    used: int | None = None
    cost: Decimal | None = None
    expected: Decimal | None = None


class ShownStage(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work of a run.

    Attributes:
        item: The mail domain of a verification; else empty.
        ended_at: Of its last attempt; ``None``: it goes on.
        took_s: From the first attempt to the last one's end, in seconds.
        working_s: Of that, seconds in which an attempt was in flight.
        retries, silences, restarts: Attempts after a failure, after silence, after a restart.
        rules: That decided what it found; ``None``: not recorded.
        learned: Of a verification: what the mail domain is like.
    """

    stage: StageName
    item: str
    started_at: datetime
    ended_at: datetime | None
    took_s: float | None
    working_s: float
    retries: int
    silences: int
    restarts: int
    rules: str | None
    asked: Sequence[SourceUse]
    learned: DomainFacts | None
    attempts: Sequence[ShownAttempt]


def shown_stages(run: Run, prices: Mapping[str, Decimal]) -> Sequence[ShownStage]:
    """Return the stages of *run* in the order in which they were begun.

    Args:
        run: As of then.
        prices: Of one question to a source or verifier, by name.
    """
    work: dict[tuple[StageName, str], list[RunAttempt]] = {}
    for attempt in run.attempts:
        work.setdefault((attempt.stage, attempt.item), []).append(attempt)
    return [_stage(run, stage, item, made, prices) for (stage, item), made in work.items()]


def cost_of(stages: Iterable[ShownStage]) -> Decimal | None:
    """Return what all who were asked cost; ``None``: nothing is known of any."""
    costs = [asked.cost for stage in stages for asked in stage.asked if asked.cost is not None]
    return sum(costs, Decimal(0)) if costs else None


def cost_in_words(stages: Sequence[ShownStage], prices: Mapping[str, Decimal]) -> str:
    """Return what `cost_of` means, in a sentence."""
    cost = cost_of(stages)
    if cost is None:
        return "not recorded: the log says who was asked, and not what a question cost"
    if not any(a.name in prices for stage in stages for a in stage.asked):
        calls = sum(a.calls or 0 for stage in stages for a in stage.asked)
        return f"${cost:f} for {calls} paid calls, as the log has it"
    without = {a.name for stage in stages for a in stage.asked if a.cost is None}
    rest = f"; without a price: {', '.join(sorted(without))}" if without else ""
    return f"{cost:f} by the prices given, of questions that were answered{rest}"


def _stage(
    run: Run,
    stage: StageName,
    item: str,
    made: Sequence[RunAttempt],
    prices: Mapping[str, Decimal],
) -> ShownStage:
    attempts = [_attempt(each) for each in made]
    ended_at = made[-1].ended_at
    goes_on = made[-1].end == "failed" and made[-1].retry_at and run.finished_at is None
    closed = next(
        (d for d in run.mail_domains if stage == "verification" and d.mail_domain == item), None
    )
    again = [each for each in made if each.attempt > 1]
    silences = sum(each.after_silence for each in again)
    restarts = sum(each.after_restart for each in again)
    return ShownStage(
        stage=stage,
        item=item,
        started_at=made[0].issued_at,
        ended_at=None if goes_on else ended_at,
        took_s=None if goes_on else _seconds(made[0].issued_at, ended_at),
        working_s=sum(each.took_s or 0.0 for each in attempts),
        retries=len(again) - silences - restarts,
        silences=silences,
        restarts=restarts,
        rules=_rules(run, stage),
        asked=[_priced(asked, prices) for asked in _with_costs(_asked(run, stage, item), made)],
        learned=None if closed is None else closed.learned,
        attempts=attempts,
    )


def _attempt(made: RunAttempt) -> ShownAttempt:
    return ShownAttempt(
        position=made.position,
        attempt=made.attempt,
        issued_at=made.issued_at,
        deadline_at=made.deadline_at,
        ended_at=made.ended_at,
        took_s=_seconds(made.issued_at, made.ended_at),
        end=made.end,
        why=made.why,
        retry_at=made.retry_at,
        after_silence=made.after_silence,
        after_restart=made.after_restart,
        causes=made.causes,
        caused_by=made.caused_by,
        end_caused_by=made.end_caused_by,
    )


def _seconds(since: datetime, until: datetime | None) -> float | None:
    return None if until is None else round((until - since).total_seconds(), 6)


def _rules(run: Run, stage: StageName) -> str | None:
    """Return the rules that decided in *stage*; those of verdicts are with each verdict."""
    recorded = {"brand-resolution": run.resolved_by, "ranking": run.ranked_by}
    return recorded.get(stage)


def _with_costs(asked: Sequence[SourceUse], made: Sequence[RunAttempt]) -> Sequence[SourceUse]:
    """Return *asked* with what *made* cost, in the order of asking where that is known."""
    recorded = [cost for attempt in made for cost in attempt.costs]
    if not recorded:
        return asked
    by_name = {each.name: each for each in asked}
    for cost in recorded:
        by_name.setdefault(cost.name, SourceUse(name=cost.name))
    order = [*dict.fromkeys(cost.name for cost in recorded)]
    order += [name for name in by_name if name not in order]
    return [
        _with_cost(by_name[name], [c for c in recorded if c.name == name]) for name in order
    ]


def _with_cost(asked: SourceUse, recorded: Sequence[SourceCost]) -> SourceUse:
    if not recorded:
        return asked
    expected = recorded[-1].expected_micros
    return replace(
        asked,
        questions=sum(each.asked for each in recorded),
        calls=sum(each.calls for each in recorded),
        used=sum(each.used for each in recorded),
        cost=Decimal(sum(each.micros for each in recorded)) / MICROS,
        expected=None if expected is None else Decimal(expected) / MICROS,
    )


def _priced(asked: SourceUse, prices: Mapping[str, Decimal]) -> SourceUse:
    price = prices.get(asked.name)
    return asked if price is None else replace(asked, cost=price * asked.answers)


def _asked(run: Run, stage: StageName, item: str) -> Sequence[SourceUse]:
    """Return whom *stage* asked, as far as the log tells; of most stages it tells nothing."""
    if stage == "verification":
        return _verifiers(run, item)
    if stage == "ranking":
        return _opinions(run)
    ended = {"brand-resolution": run.resolution, "contact-discovery": run.discovery}
    return _sources(ended[stage], run.attempts, stage) if stage in ended else ()


def _sources(
    ended: SourcesEnd | None, attempts: Iterable[RunAttempt], stage: StageName
) -> Sequence[SourceUse]:
    causes: dict[str, str] = {}
    for attempt in attempts:
        if attempt.stage == stage:
            causes |= attempt.causes
    ends: Mapping[str, str] = {}
    if ended is not None:
        causes, ends = dict(ended.causes), ended.sources
    return [
        SourceUse(
            name=name,
            ended=ends.get(name),
            why=causes.get(name),
            answers=int(ends.get(name) in _ANSWERED),
        )
        for name in dict.fromkeys((*ends, *causes))
    ]


def _opinions(run: Run) -> Sequence[SourceUse]:
    """Return who was asked about headlines: in one question, if anybody was."""
    failed = [SourceUse(name=name, why=why) for name, why in run.ranking_causes.items()]
    answered = any(person.opinion is not None for person in run.people)
    return failed or [SourceUse(name=SOURCE, questions=1, answers=1)] * answered


def _verifiers(run: Run, mail_domain: str) -> Sequence[SourceUse]:
    found = [
        evidence
        for person in run.people
        for check in person.checks
        if check.checked.mail_domain == mail_domain
        for evidence in check.checked.evidence
    ]
    asked = Counter(evidence.verifier for evidence in found)
    answered = Counter(evidence.verifier for evidence in found if evidence.answered)
    return [
        SourceUse(name=name, questions=times, answers=answered[name])
        for name, times in sorted(asked.items())
    ]
