"""Answers that no stage may give, whoever its author: refused before they are published."""

from collections.abc import Iterator

from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Verdict
from cs.domain.roles.labels import ELIGIBLE, Family
from cs.domain.stages.table import STAGE_OF_FINDING, STAGES, ExtraStage
from cs.domain.stages.work import FactsFound, Failed, RankingDone, Work, checked_in

FAMILIES = frozenset(Family) - {Family.OTHER}


def wrong_result(finding: object, work: Work) -> str | None:
    """Return why *finding* may not end *work*; ``None`` if it may.  It names no person."""
    result = STAGES[work.stage].result
    if not isinstance(finding, result | Failed):
        kind = type(finding)
        owner = STAGE_OF_FINDING.get(kind)  # type: ignore[arg-type]
        whose = f", a finding of {owner}" if owner not in {None, work.stage} else ""
        return f"{kind.__name__}{whose}, not {result.__name__} or Failed"
    if isinstance(finding, FactsFound):
        return next(_wrong_facts(finding, work), None)
    if isinstance(finding, RankingDone):
        return next(_wrong_roles(finding), None)
    return next(_wrong_checks(checked_in(finding), work.item), None)


def _wrong_facts(finding: FactsFound, work: Work) -> Iterator[str]:
    row = STAGES[work.stage]
    declared = row.facts if isinstance(row, ExtraStage) else ()
    given = {each.person for each in getattr(work.input, "people", ())}
    for number, person in enumerate(finding.people):
        if person.person not in given:
            yield f"people[{number}] was not given to it"
        if not person.facts.keys() <= set(declared):
            yield f"people[{number}].facts has one that the stage does not declare"


def _wrong_roles(finding: RankingDone) -> Iterator[str]:
    for number, person in enumerate(finding.ranked):
        if person.family not in FAMILIES:
            yield f"ranked[{number}].family is none of {', '.join(sorted(FAMILIES))}"
        if person.level not in ELIGIBLE:
            yield f"ranked[{number}].level is none of {', '.join(sorted(ELIGIBLE))}"


def _wrong_checks(checked: tuple[CheckedPerson, ...], mail_domain: str) -> Iterator[str]:
    for number, person in enumerate(checked):
        place = f"checked[{number}]"
        if person.mail_domain != mail_domain:
            yield f"{place} is of another mail domain"
        for evidence in person.evidence:
            if evidence.address.rpartition("@")[2].lower() != mail_domain:
                yield f"{place}.evidence is about an address at another mail domain"
            if evidence.at.utcoffset() is None:
                yield f"{place}.evidence has a time without a time zone"
        if person.address is not None and not any(
            evidence.address == person.address
            and evidence.verifier == person.verifier
            and evidence.verdict is Verdict.DELIVERABLE
            for evidence in person.evidence
        ):
            yield f"{place} is verified without evidence of that verifier about that address"
