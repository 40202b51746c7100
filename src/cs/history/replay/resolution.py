"""Resolving brands again: which brand would be meant, of those that sources named then."""

from typing import Any

import msgspec

from cs.domain.contact import BrandFacts
from cs.domain.stages.fitting import fitted
from cs.history.replay.difference import Change, Effect, LookupComparison, Totals, difference
from cs.history.replay.recorded import RecordedLookup
from cs.history.replay.rules import BrandChoice, Rules

#: What of a brand leads to other people or other mailboxes.
_LEADING = ("name", "domain", "linkedin_company_url", "parent_company", "mail_domains")


class ResolvedTo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which brand was meant; *facts* are those that differ."""

    status: str
    facts: dict[str, Any] = {}


def compare_resolution(
    lookup: RecordedLookup, rules: Rules, totals: Totals
) -> LookupComparison:
    """Resolve the brand of *lookup* by *rules*, and return what would differ."""
    resolved = lookup.resolved
    if resolved is None:
        totals.miss("no source had answered in the end")
        return LookupComparison()
    if resolved.matches is None:
        totals.miss("the brands that sources named were not recorded")
        return LookupComparison()
    totals.replayed += 1
    totals.answered_by(resolved.rules)
    was = BrandChoice(resolved.status, resolved.brand)  # type: ignore[arg-type]
    now = rules.resolve(lookup.query, resolved.matches)
    now = BrandChoice(now.status, now.facts)  # how sure it was then is not stored
    if now != was and now.facts is not None:
        # What was stored went through a message, and so within its limits.
        now = BrandChoice(now.status, fitted(now.facts))
    if now == was:
        return LookupComparison()
    change = _change(was, now)
    totals.count(change)
    fields = [name for name in BrandFacts.__struct_fields__ if _differs(name, was, now)]
    told = difference(
        lookup,
        "resolution",
        change,
        rules=resolved.rules,
        was=_resolved_to(was, fields),
        would_be=_resolved_to(now, fields),
    )
    return LookupComparison((told,), _effect(change, fields))


def _change(was: BrandChoice, now: BrandChoice) -> Change:
    if (was.status == "matched") == (now.status == "matched"):
        return "changed"
    return "gained" if now.status == "matched" else "lost"


def _differs(name: str, was: BrandChoice, now: BrandChoice) -> bool:
    return bool(_fact(was, name) != _fact(now, name))


def _fact(choice: BrandChoice, name: str) -> Any:
    return None if choice.facts is None else getattr(choice.facts, name)


def _resolved_to(choice: BrandChoice, fields: list[str]) -> ResolvedTo:
    if choice.facts is None:
        return ResolvedTo(choice.status)
    return ResolvedTo(choice.status, {name: _fact(choice, name) for name in fields})


def _effect(change: Change, fields: list[str]) -> Effect | None:
    """Return what becomes of charges: whom another brand's people are nobody knows."""
    if change == "lost":
        return Effect(was_charged=True, change="lost")
    if change == "gained":
        return Effect(was_charged=False, change="open")
    return Effect(None, "open") if set(fields) & set(_LEADING) else None
