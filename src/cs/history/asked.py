"""The sources and verifiers that a run asked, and what that cost.  Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from cs.domain.opinions import SOURCE
from cs.domain.source_cost import SourceCost
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
    found = []
    for (stage, item), attempts in work.items():
        uses = {use.name: use for use in _uses(run, stage, item, attempts)}
        recorded = [cost for attempt in attempts for cost in attempt.costs]  # in order
        for name in dict.fromkeys([*(cost.name for cost in recorded), *uses]):
            use = uses.get(name) or SourceUse(stage=stage, item=item, name=name)
            use = _with_costs(use, [cost for cost in recorded if cost.name == name])
            if name in prices:
                use = replace(use, cost=prices[name] * use.answers)
            found.append(use)
    return found


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


def _uses(
    run: Run, stage: StageName, item: str, attempts: Iterable[RunAttempt]
) -> Iterator[SourceUse]:
    """Yield whom *stage* asked, as its results and its failures have it."""
    if stage == "verification":
        tried = [
            evidence
            for person in run.people
            for check in person.checks
            if check.checked.mail_domain == item
            for evidence in check.checked.evidence
        ]
        for name in sorted({evidence.verifier for evidence in tried}):
            theirs = [evidence.answered for evidence in tried if evidence.verifier == name]
            yield SourceUse(
                stage=stage, item=item, name=name, questions=len(theirs), answers=sum(theirs)
            )
        return
    if stage == "ranking":
        sources, causes = dict[str, str](), run.ranking_causes
        if not causes and any(person.opinion is not None for person in run.people):
            yield SourceUse(stage=stage, item=item, name=SOURCE, questions=1, answers=1)
    elif ended := run.resolution if stage == "brand-resolution" else run.discovery:
        sources, causes = ended.sources, ended.causes
    else:
        sources = {}
        causes = {name: why for attempt in attempts for name, why in attempt.causes.items()}
    for name in dict.fromkeys((*sources, *causes)):
        how = sources.get(name)
        answers = int(how in _ANSWERED)
        why = causes.get(name)
        yield SourceUse(stage=stage, item=item, name=name, ended=how, why=why, answers=answers)


def _with_costs(use: SourceUse, costs: Sequence[SourceCost]) -> SourceUse:
    """Return *use* with what the log recorded of its cost."""
    if not costs:
        return use
    expected = costs[-1].expected_micros
    return replace(
        use,
        questions=sum(each.asked for each in costs),
        calls=sum(each.calls for each in costs),
        used=sum(each.used for each in costs),
        cost=Decimal(sum(each.micros for each in costs)) / MICROS,
        expected=None if expected is None else Decimal(expected) / MICROS,
    )
