"""The sources and verifiers that a run asked, and what that cost.  Pure."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from cs.domain.opinions import SOURCE
from cs.domain.source_cost import MICROS, SourceCost
from cs.domain.stages.work import StageName
from cs.history.runs import Run, RunAttempt


class SourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """A source or a verifier that a stage asked.

    Attributes:
        stage, item: That asked it; `item` is the mail domain of a verification.
        ended: Of a source: how.
        why: Why it could not answer.
        questions: Of a verifier: addresses it was asked about; of a source not recorded.
        calls: Calls to a service that charges, made for them; ``None``: not recorded.
        used: What the stage went on with of what it gave; ``None``: not recorded.
        cost: In US dollars, as the log has it; ``None``: it does not.
        expected: What a verified e-mail from it was expected to cost, in US dollars, when the
            order of asking was made.
    """

    stage: StageName
    item: str
    name: str
    ended: str | None = None
    why: str | None = None
    questions: int | None = None
    calls: int | None = None
    used: int | None = None
    cost: Decimal | None = None
    expected: Decimal | None = None


def asked_by(run: Run) -> Sequence[SourceUse]:
    """Return whom the stages of *run* asked, by stage, in the order of asking."""
    work: dict[tuple[StageName, str], list[RunAttempt]] = {}
    for attempt in run.attempts:
        work.setdefault((attempt.stage, attempt.item), []).append(attempt)
    found = []
    for (stage, item), attempts in work.items():
        uses = {use.name: use for use in _uses(run, stage, item, attempts)}
        recorded = [cost for attempt in attempts for cost in attempt.costs]  # in order
        for name in dict.fromkeys([*(cost.name for cost in recorded), *uses]):
            use = uses.get(name) or SourceUse(stage=stage, item=item, name=name)
            found.append(_with_costs(use, [c for c in recorded if c.name == name]))
    return found


def cost_in_words(asked: Sequence[SourceUse]) -> str:
    """Return what all of *asked* cost, in a sentence."""
    costs = [each.cost for each in asked if each.cost is not None]
    if not costs:
        return "not recorded: the log says who was asked, and not what a question cost"
    calls = sum(each.calls or 0 for each in asked)
    return f"${sum(costs, Decimal(0)):f} for {calls} paid calls, as the log has it"


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
            questions = sum(evidence.verifier == name for evidence in tried)
            yield SourceUse(stage=stage, item=item, name=name, questions=questions)
        return
    if stage == "ranking":
        sources, causes = dict[str, str](), run.ranking_causes
        if not causes and any(person.opinion is not None for person in run.people):
            yield SourceUse(stage=stage, item=item, name=SOURCE, questions=1)
    elif ended := run.resolution if stage == "brand-resolution" else run.discovery:
        sources, causes = ended.sources, ended.causes
    else:
        sources = {}
        causes = {name: why for attempt in attempts for name, why in attempt.causes.items()}
    for name in dict.fromkeys((*sources, *causes)):
        how = sources.get(name)
        why = causes.get(name)
        yield SourceUse(stage=stage, item=item, name=name, ended=how, why=why)


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
