"""What a replay tells: each difference, each charge, and how many there are of what."""

from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from cs.domain.rule_sets import NOT_RECORDED
from cs.history.replay.recorded import Kind, RecordedLookup

#: Something is there now that was not; was there and is not; is there otherwise.
Change = Literal["gained", "lost", "changed"]
#: Fields of what was said that say who somebody is.
_PERSONAL = ("title", "address")
#: Searches that would be charged and were not; were and would not be; of which nobody knows,
#: since somebody outside would have to be asked.
ChargeChange = Literal["gained", "lost", "open"]


class AnswerDifference(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="difference"
):
    """One answer that would be another one.

    Attributes:
        replay: What was run again.
        change: As `Change`; of a ranking ``changed`` is moved, or in another role.
        brand, domain: As the brand was asked for.
        lookup: In which lookup.
        person: About whom, ``<lookup>#p1``; ``None``: about the brand.
        who: Their pseudonym over all lookups, where it was asked for.
        rules: That answered then, "not recorded" if nobody wrote it down.
        was: What they said.
        would_be: What is said now.
        name: Who it is, where people are revealed.
    """

    replay: Kind
    change: Change
    brand: str | None
    domain: str | None
    lookup: str
    person: str | None = None
    who: str | None = None
    rules: str
    was: Any
    would_be: Any
    name: str | None = None


class ChargeDifference(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="charge"
):
    """One search whose charge would be another one, or may be.

    Attributes:
        change: As `ChargeChange`.
        position: Of the event that settled it.
        key: The API key's id.
        cached: Whether it was answered from the lookup later.
    """

    change: ChargeChange
    brand: str | None
    domain: str | None
    lookup: str
    search: str
    key: str
    position: int
    cached: bool


class Totals(msgspec.Struct, kw_only=True, tag_field="kind", tag="total"):
    """How many of what, of one brand or of all.

    Attributes:
        lookups: That there were.
        replayed: Of them, those whose input the log has.
        answers: That were run again: people ranked or left out, verdicts, resolutions.
        gained, lost, changed: Differences among them.
        charges_gained, charges_lost, charges_open: Searches.
        not_replayed: Lookups or answers that could not be, by why.
        by_rules: Answers that were run again, by the rules that gave them then.
    """

    lookups: int = 0
    replayed: int = 0
    answers: int = 0
    gained: int = 0
    lost: int = 0
    changed: int = 0
    charges_gained: int = 0
    charges_lost: int = 0
    charges_open: int = 0
    not_replayed: dict[str, int] = {}
    by_rules: dict[str, int] = {}

    @property
    def differences(self) -> int:
        return self.gained + self.lost + self.changed

    def count(self, change: Change) -> None:
        setattr(self, change, getattr(self, change) + 1)

    def count_charge(self, change: ChargeChange) -> None:
        name = f"charges_{change}"
        setattr(self, name, getattr(self, name) + 1)

    def miss(self, why: str) -> None:
        """Count something that cannot be run again, because of *why*."""
        self.not_replayed[why] = self.not_replayed.get(why, 0) + 1

    def answered_by(self, rules: str | None, answers: int = 1) -> None:
        """Count *answers* that were run again, and that *rules* gave then."""
        self.answers += answers
        name = rules or NOT_RECORDED
        self.by_rules[name] = self.by_rules.get(name, 0) + answers

    def add(self, other: "Totals") -> None:
        """Add what *other* counts."""
        for field in self.__struct_fields__:
            mine, theirs = getattr(self, field), getattr(other, field)
            if isinstance(theirs, dict):
                for name, number in theirs.items():
                    mine[name] = mine.get(name, 0) + number
            else:
                setattr(self, field, mine + theirs)


class Effect(msgspec.Struct, frozen=True):
    """What a lookup's other answers mean for the searches that it answered.

    Attributes:
        was_charged: Which of those searches are meant: those that were charged, or those
            that were not; ``None``: both.
        change: What would become of that.
    """

    was_charged: bool | None
    change: ChargeChange


class LookupComparison(msgspec.Struct, frozen=True):
    """What comparing one lookup came to; *effect* is ``None`` if every charge stays."""

    differences: tuple[AnswerDifference, ...] = ()
    effect: Effect | None = None


def difference(
    lookup: RecordedLookup,
    kind: Kind,
    change: Change,
    *,
    rules: str | None,
    was: Any,
    would_be: Any,
    person: str | None = None,
    name: str | None = None,
) -> AnswerDifference:
    """Return one difference in *lookup*; whoever may not see people gets `sealed` of it."""
    return AnswerDifference(
        replay=kind,
        change=change,
        brand=lookup.query.brand,
        domain=lookup.query.domain,
        lookup=lookup.lookup,
        person=None if person is None else f"{lookup.lookup}#{person}",
        rules=rules or NOT_RECORDED,
        was=was,
        would_be=would_be,
        name=name,
    )


def sealed(told: AnswerDifference) -> AnswerDifference:
    """Return *told* without what says who it is about."""
    return replace(told, name=None, was=_sealed(told.was), would_be=_sealed(told.would_be))


def _sealed(said: Any) -> Any:
    hidden = {field: None for field in _PERSONAL if getattr(said, field, None) is not None}
    return replace(said, **hidden) if hidden else said


def effect_of(*, was_charged: bool, is_charged: bool, is_open: bool) -> Effect | None:
    """Return what becomes of the charges of a lookup.

    Args:
        was_charged: Somebody had a verified e-mail.
        is_charged: Somebody would have.
        is_open: Nobody would, of those who were asked about; but others would be asked about.
    """
    if was_charged == is_charged:
        return Effect(was_charged, "open") if is_open and not is_charged else None
    if is_charged:
        return Effect(was_charged, "gained")
    return Effect(was_charged, "open" if is_open else "lost")
