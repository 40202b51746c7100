"""Judging mailboxes again: whose would be verified, and whose not any more."""

from collections.abc import Sequence

import msgspec

from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.history.replay.difference import (
    AnswerDifference,
    Change,
    LookupComparison,
    Totals,
    difference,
    effect_of,
)
from cs.history.replay.recorded import RecordedCheck, RecordedLookup
from cs.history.replay.rules import Conclusion, Judgement, ReadVerdict, Rules
from cs.verifiers.smtp.verifier import NAME as SMTP


class StoredVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What verification found for somebody at one mail domain.

    Attributes:
        reasons: Why, of each address that was tried, in order.
        address: The verified one, where people are revealed.
    """

    mail_domain: str
    verdict: Verdict
    reasons: tuple[str, ...]
    address: str | None = None


def compare_verdicts(lookup: RecordedLookup, rules: Rules, totals: Totals) -> LookupComparison:
    """Judge the evidence of *lookup* by *rules*, and return what would differ."""
    if not lookup.checks:
        totals.miss("no mailbox was checked")
        return LookupComparison()
    totals.replayed += 1
    judgements = rules.judge([each.checked for each in lookup.checks])
    differences: list[AnswerDifference] = []
    is_charged, is_open = lookup.erased_verified, False
    for check, judgement in zip(lookup.checks, judgements, strict=True):
        checked = check.checked
        totals.answered_by(_rules_of(checked))
        if None in judgement.readings:
            _count_unread(checked, judgement, totals)
        change = _change(check, judgement)
        is_charged = is_charged or _is_verified(check, judgement)
        if change is None:
            continue
        is_open = is_open or (change == "lost" and _would_go_on(judgement))
        totals.count(change)
        said = tuple(found.reason for found in checked.evidence)
        differences.append(
            difference(
                lookup,
                "verdicts",
                change,
                rules=_rules_of(checked),
                was=_judged(checked, Conclusion(checked.verdict, checked.address), said),
                would_be=_judged(
                    checked,
                    judgement.conclusion,
                    _reasons(checked.evidence, judgement.readings),
                ),
                person=checked.person,
            )
        )
    was_charged = lookup.erased_verified or any(check.verified for check in lookup.checks)
    effect = effect_of(was_charged=was_charged, is_charged=is_charged, is_open=is_open)
    return LookupComparison(tuple(differences), effect)


def _change(check: RecordedCheck, judgement: Judgement) -> Change | None:
    checked, now = check.checked, judgement.conclusion
    if (now.verdict, now.address) == (checked.verdict, checked.address):
        return None
    if check.verified and now.verdict is not Verdict.DELIVERABLE:
        return "lost"
    return "gained" if _is_verified(check, judgement) and not check.verified else "changed"


def _is_verified(check: RecordedCheck, judgement: Judgement) -> bool:
    """Return whether the mailbox would be verified.

    What was deliverable and not proved then, since nobody who is configured vouched for it,
    would not be now.
    """
    unproved = check.checked.verdict is Verdict.DELIVERABLE and not check.verified
    return judgement.conclusion.verdict is Verdict.DELIVERABLE and not unproved


def _would_go_on(judgement: Judgement) -> bool:
    """Return whether further addresses would be tried: those that were are refused."""
    return judgement.conclusion.verdict is Verdict.UNDELIVERABLE


def _judged(
    checked: CheckedPerson, conclusion: Conclusion, reasons: tuple[str, ...]
) -> StoredVerdict:
    return StoredVerdict(
        mail_domain=checked.mail_domain,
        verdict=conclusion.verdict,
        reasons=reasons,
        address=conclusion.address,
    )


def _reasons(
    evidence: Sequence[Evidence], readings: Sequence[ReadVerdict | None]
) -> tuple[str, ...]:
    pairs = zip(evidence, readings, strict=True)
    return tuple(found.reason if again is None else again.reason for found, again in pairs)


def _rules_of(checked: CheckedPerson) -> str | None:
    for found in checked.evidence:
        if found.rules:
            return found.rules
    return None


def _count_unread(checked: CheckedPerson, judgement: Judgement, totals: Totals) -> None:
    for found, reading in zip(checked.evidence, judgement.readings, strict=True):
        if reading is not None:
            continue
        if found.verifier != SMTP:
            totals.miss("read by another verifier")
        elif "S" not in [line.who for line in found.conversation]:
            totals.miss("no mail server said anything")
        else:
            totals.miss("something is asked that was not asked or stored then")
