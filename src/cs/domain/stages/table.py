"""The stages of a lookup, one row each: the one place that says what a stage is.

Topics, consumer groups, budgets, attempts, which finding is whose and which event ends which
work are all read from here.  The shapes themselves are in `cs.domain.stages.work`, what they
may hold is in `cs.domain.stages.limits`, what a finding leads to in `cs.domain.lookup.rules`.

Four stages are the service's own.  A package adds one with an entry point that names its row,
an `ExtraStage` (docs/extending.md).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupEvent,
    MailDomainChecked,
    StageDone,
)
from cs.domain.contact import Person
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    ExtraInput,
    FactsFound,
    MailboxChecked,
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    StageInput,
    StageName,
    VerificationInput,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

V = TypeVar("V")

#: The group of entry points that name the rows of extra stages.
EXTRA_STAGES = "cs.extra_stages"


class StageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One stage.

    Attributes:
        name: Also its consumer group, log field and metric label.  Never changes.
        input: The input of its work.
        progress: Findings it may send any number of times before the result.
        result: The finding that ends its work; `Failed` ends one attempt at it.
        closed_by: The event that ends its work in the log.
        budget: What one attempt may take; never past the lookup's own deadline.  The
            outside clients end single fetches after 10 s.
        attempts: At most so many, those issued again for silence aside; ``None``: as many
            as the deadline allows, with waits that grow (docs/decisions/0028).
        item: The field, of its input and of the event that closes its work, that
            distinguishes its pieces of work in one lookup; ``None``: there is one.
        asks: The settings that name the services it asks.
        optional: The run goes on without it: when it fails for good, or when its budget is
            over, in however many attempts.
    """

    name: StageName
    input: type[StageInput]
    progress: tuple[type[AnyFinding], ...] = ()
    result: type[AnyFinding]
    closed_by: type[LookupEvent]
    budget: timedelta
    attempts: int | None = 3
    item: str | None = None
    asks: tuple[str, ...] = ()
    optional: bool = False

    @property
    def topic(self) -> str:
        """Return where its work is published."""
        return f"cs.{self.name}.v1"


class ExtraStage(StageRow, frozen=True, kw_only=True):
    """A stage that a package adds.

    It learns facts about people who were found, which callers get as the ``extras`` of a
    contact.  It changes nothing else of the result.

    Attributes:
        after: The stage that it follows: another extra one, or one that has found people.
        give: Says who is given to it, from the run (`cs.domain.lookup.state.Lookup`): the
            references of people ("p1") by item, which is a mail domain or "" for all of its
            work.  Pure.  Without people, the stage is passed over.
        sees: The fields of a `Person` that are given to it; the others are empty.
        facts: The names of the facts that it may find.
        make: Makes the stage from its `cs.plugins.stages.StageContext`.
    """

    after: StageName
    give: Callable[[Any], Mapping[str, Iterable[str]]]
    sees: tuple[str, ...]
    facts: tuple[str, ...]
    make: Callable[[Any], Any]
    input: type[StageInput] = ExtraInput
    result: type[AnyFinding] = FactsFound
    closed_by: type[LookupEvent] = StageDone
    budget: timedelta = timedelta(seconds=20)
    attempts: int | None = 1
    item: str | None = "item"
    optional: bool = True


_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
#: Other topics and groups have these.
TAKEN = ("outcomes", "dead-letters", "events", "process-manager")


class BadExtraStage(Exception):
    """An extra stage is installed and cannot be used; the message names it and says why."""


#: In the order of a lookup.
OWN_STAGES: Mapping[StageName, StageRow] = {
    row.name: row
    for row in (
        StageRow(
            name="brand-resolution",
            input=ResolutionInput,
            result=Resolved,
            closed_by=BrandResolved,
            budget=timedelta(seconds=40),
            asks=("brand_sources",),
        ),
        StageRow(
            name="contact-discovery",
            input=DiscoveryInput,
            progress=(PeopleSeen,),
            result=Discovered,
            closed_by=ContactsDiscovered,
            budget=timedelta(seconds=60),
            asks=("people_sources",),
        ),
        StageRow(
            name="ranking",
            input=RankingInput,
            result=RankingDone,
            closed_by=ContactsRanked,
            budget=timedelta(seconds=20),
        ),
        StageRow(
            name="verification",
            input=VerificationInput,
            progress=(MailboxChecked,),
            result=DomainVerified,
            closed_by=MailDomainChecked,
            budget=timedelta(seconds=120),
            # A greylist opens when it likes, whatever wait its server names.
            attempts=None,
            item="mail_domain",
            asks=("verifiers",),
        ),
    )
}


class WhenNeeded(Mapping[str, V]):
    """A mapping that is made when it is first read, so that packages can import its module."""

    def __init__(self, made: Callable[[], Mapping[str, V]]) -> None:
        self._made = made

    def __getitem__(self, name: str) -> V:
        return self._made()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


@cache
def installed_rows() -> Mapping[StageName, StageRow]:
    """Return the table, which is read once: packages do not come while a process runs."""
    order = list(OWN_STAGES.values())
    waiting = [
        _loaded(name, found) for name, found in sorted(_installed().items(), reverse=True)
    ]
    # After the stage that has them; one may follow another extra one.
    while waiting:
        names = [row.name for row in order]
        row = next((row for row in waiting if row.after in names[1:]), None)
        if row is None:
            raise BadExtraStage(
                f"extra stage {waiting[0].name!r} cannot be used: it is after "
                f"{waiting[0].after!r}; it may be after {', '.join(names[1:])}"
            )
        order.insert(names.index(row.after) + 1, row)
        waiting.remove(row)
    return {row.name: row for row in order}


#: The service's own stages and those of packages, in the order of a lookup.
#:
#: Raises:
#:     BadExtraStage: When it is read: one that is installed cannot be used.
STAGES: Mapping[StageName, StageRow] = WhenNeeded(installed_rows)


def _loaded(name: str, points: "Sequence[EntryPoint]") -> ExtraStage:
    row: object = None
    try:
        row = points[0].load()
        wrong = "two have that name" if len(points) > 1 else wrong_row(row, name)
    except Exception as error:  # noqa: BLE001  a package is foreign code
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        place = ", ".join(point.value for point in points)
        raise BadExtraStage(f"extra stage {name!r} ({place}) cannot be used: {wrong}")
    assert isinstance(row, ExtraStage)
    return row


def wrong_row(row: object, name: str) -> str | None:
    """Return why *row* may not stand in the table under *name*; ``None`` if it may."""
    if not isinstance(row, ExtraStage):
        return f"a {type(row).__name__} is no ExtraStage"
    if row.name != name:
        return f"it calls itself {row.name!r}"
    if name in {*TAKEN, *OWN_STAGES} or not _NAME.fullmatch(name):
        return "a name is up to 40 small letters, digits and -, and not taken"
    if unknown := set(row.sees) - set(Person.__struct_fields__):
        return f"`sees`: a person has no field {min(unknown)!r}"
    return None


def _installed() -> "Mapping[str, list[EntryPoint]]":
    # Imported here: every command imports this module, and few need the table.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=EXTRA_STAGES):
        found.setdefault(point.name, []).append(point)
    return found


def extra_stage(name: StageName) -> ExtraStage | None:
    """Return the row of the extra stage *name*; ``None``: it is none, or not installed."""
    row = STAGES.get(name)
    return row if isinstance(row, ExtraStage) else None


def is_optional(name: StageName) -> bool:
    """Return whether a run goes on without *name*: also if its package is gone."""
    return name not in STAGES or STAGES[name].optional


#: Findings that are the word of one stage; any stage may fail or be alive.
STAGE_OF_FINDING: Mapping[type[AnyFinding], StageName] = {
    finding: row.name for row in OWN_STAGES.values() for finding in (*row.progress, row.result)
}
#: Findings that come before a result.
PROGRESS: tuple[type[AnyFinding], ...] = tuple(
    finding for row in OWN_STAGES.values() for finding in row.progress
)
_ROW_CLOSED_BY: Mapping[type[LookupEvent], StageRow] = {
    row.closed_by: row for row in OWN_STAGES.values()
}


def item_of(work: StageInput) -> str:
    """Return what distinguishes *work* from its stage's other work in the lookup, or ``""``.

    >>> item_of(VerificationInput("acme.example", ()))
    'acme.example'
    """
    if isinstance(work, ExtraInput):
        return work.item
    field = next(row.item for row in OWN_STAGES.values() if row.input is type(work))
    return "" if field is None else str(getattr(work, field))


class ClosedWork(NamedTuple):
    """A piece of work that an event has ended."""

    lookup: str
    stage: StageName
    item: str


def closed_work(event: object) -> ClosedWork | None:
    """Return whose work *event*, of any category, ends; ``None``: none."""
    if isinstance(event, StageDone):
        return ClosedWork(event.lookup, event.stage, event.item)
    if not isinstance(event, LookupEvent) or type(event) not in _ROW_CLOSED_BY:
        return None
    row = _ROW_CLOSED_BY[type(event)]
    item = "" if row.item is None else str(getattr(event, row.item))
    return ClosedWork(event.lookup, row.name, item)
