"""The sources and verifiers that a run asked, and what that cost.  Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from cs.domain.mail.mailbox import Evidence
from cs.domain.opinions import SOURCE
from cs.domain.stages.work import StageName
from cs.history.runs import Run, RunAttempt
from cs.paid_calls.budgets.port import MICROS

#: How the run of a source ended that got an answer.
_ANSWERED = frozenset({"used", "no_results"})


class SourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """A source or a verifier that a stage asked.

    Attributes:
        stage, item: That asked it; `item` is the mail domain of a verification.
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

    stage: StageName
    item: str
    name: str
    ended: str | None = None
    why: str | None = None
    questions: int | None = None
    answers: int = 0
    calls: int | None = None
    used: int | None = None
    cost: Decimal | None = None
    expected: Decimal | None = None


def asked_by(run: Run, prices: Mapping[str, Decimal]) -> Sequence[SourceUse]:
    """Return whom the stages of *run* asked, by stage, in the order of asking.

    Args:
        run: As of then.
        prices: Of one question to a source or verifier, by name.
    """
    work: dict[tuple[StageName, str], list[RunAttempt]] = {}
    for attempt in run.attempts:
        work.setdefault((attempt.stage, attempt.item), []).append(attempt)
    return [
        use
        if (price := prices.get(use.name)) is None
        else replace(use, cost=price * use.answers)
        for (stage, item), attempts in work.items()
        for use in _with_costs(stage, item, _told(run, stage, item, attempts), attempts)
    ]


def cost_in_words(asked: Sequence[SourceUse], prices: Mapping[str, Decimal]) -> str:
    """Return what all of *asked* cost, in a sentence."""
    costs = [each.cost for each in asked if each.cost is not None]
    if not costs:
        return "not recorded: the log says who was asked, and not what a question cost"
    cost = sum(costs, Decimal(0))
    if not any(each.name in prices for each in asked):
        calls = sum(each.calls or 0 for each in asked)
        return f"${cost:f} for {calls} paid calls, as the log has it"
    without = sorted({each.name for each in asked if each.cost is None})
    rest = f"; without a price: {', '.join(without)}" if without else ""
    return f"{cost:f} by the prices given, of questions that were answered{rest}"


def _told(
    run: Run, stage: StageName, item: str, attempts: Iterable[RunAttempt]
) -> Mapping[str, SourceUse]:
    """Return by name whom *stage* asked, as its results and its failures tell."""
    if stage == "verification":
        return _verifiers(run, item)
    if stage == "ranking":
        failed = run.ranking_causes
        answered = any(person.opinion is not None for person in run.people) and not failed
        use = SourceUse(stage=stage, item=item, name=SOURCE, questions=1, answers=1)
        return (
            {SOURCE: use} if answered else {n: _failed(stage, n, w) for n, w in failed.items()}
        )
    ended = run.resolution if stage == "brand-resolution" else run.discovery
    causes = {name: why for attempt in attempts for name, why in attempt.causes.items()}
    if ended is None:
        return {name: _failed(stage, name, why) for name, why in causes.items()}
    return {
        name: SourceUse(
            stage=stage,
            item=item,
            name=name,
            ended=ended.sources.get(name),
            why=ended.causes.get(name),
            answers=int(ended.sources.get(name) in _ANSWERED),
        )
        for name in dict.fromkeys((*ended.sources, *ended.causes))
    }


def _failed(stage: StageName, name: str, why: str) -> SourceUse:
    return SourceUse(stage=stage, item="", name=name, why=why)


def _verifiers(run: Run, mail_domain: str) -> Mapping[str, SourceUse]:
    found: list[Evidence] = [
        evidence
        for person in run.people
        for check in person.checks
        if check.checked.mail_domain == mail_domain
        for evidence in check.checked.evidence
    ]
    asked = Counter(evidence.verifier for evidence in found)
    answered = Counter(evidence.verifier for evidence in found if evidence.answered)
    return {
        name: SourceUse(
            stage="verification",
            item=mail_domain,
            name=name,
            questions=times,
            answers=answered[name],
        )
        for name, times in sorted(asked.items())
    }


def _with_costs(
    stage: StageName,
    item: str,
    told: Mapping[str, SourceUse],
    attempts: Iterable[RunAttempt],
) -> Sequence[SourceUse]:
    """Return *told* with what the log recorded of their cost, which has the order of asking."""
    recorded = [cost for attempt in attempts for cost in attempt.costs]
    uses = []
    for name in dict.fromkeys([*(cost.name for cost in recorded), *told]):
        use = told.get(name) or SourceUse(stage=stage, item=item, name=name)
        costs = [cost for cost in recorded if cost.name == name]
        if costs:
            expected = costs[-1].expected_micros
            use = replace(
                use,
                questions=sum(each.asked for each in costs),
                calls=sum(each.calls for each in costs),
                used=sum(each.used for each in costs),
                cost=Decimal(sum(each.micros for each in costs)) / MICROS,
                expected=None if expected is None else Decimal(expected) / MICROS,
            )
        uses.append(use)
    return uses
