"""The stages of a lookup, one row each: the one place that says what a stage is.

Topics, consumer groups, budgets, attempts, what a message may hold, which finding is whose
and which event ends which work are all read from here.  The shapes themselves are in
`cs.domain.stages.work`, what a finding leads to is in `cs.domain.lookup.rules`.
How to add a stage: docs/extending.md.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

import msgspec

from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupEvent,
    MailDomainChecked,
)
from cs.domain.stages.field_limits import (
    CAUSES_BY_SOURCE,
    COSTS,
    HOST,
    OPINIONS_AT_ONCE,
    PEOPLE_AT_ONCE,
    SOURCES,
    WORD,
    Limit,
    ListLimit,
    NumberLimit,
)
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
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

#: By shape and field (`cs.domain.stages.limits.LIMITS`).
Limits = Mapping[type[msgspec.Struct], Mapping[str, Limit]]


class StageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One stage.

    Attributes:
        name: Also its consumer group, log field and metric label.  Never changes.
        input: The input of its work.
        progress: Findings it may send any number of times before the result.
        result: The finding that ends its work; `Failed` ends one attempt at it.
        closed_by: The event that ends its work in the log.
        topic: Where its work is published.  Never changes.
        budget: What one attempt may take; never past the lookup's own deadline.  The
            outside clients end single fetches after 10 s.
        attempts: At most so many, those issued again for silence aside; ``None``: as many
            as the deadline allows, with waits that grow (docs/decisions/0028).
        item: The field, of its input and of the event that closes its work, that
            distinguishes its pieces of work in one lookup; ``None``: there is one.
        asks: The settings that name whom it asks.
        limits: What its input and findings may hold.
    """

    name: StageName
    input: type[StageInput]
    progress: tuple[type[AnyFinding], ...] = ()
    result: type[AnyFinding]
    closed_by: type[LookupEvent]
    topic: str
    budget: timedelta
    attempts: int | None = 3
    item: str | None = None
    asks: tuple[str, ...] = ()
    limits: Limits


#: In the order of a lookup.
STAGES: Mapping[StageName, StageRow] = {
    row.name: row
    for row in (
        StageRow(
            name="brand-resolution",
            input=ResolutionInput,
            result=Resolved,
            closed_by=BrandResolved,
            topic="cs.brand-resolution.v1",
            budget=timedelta(seconds=40),
            asks=("brand_sources",),
            limits={
                ResolutionInput: {},
                Resolved: {
                    "sources": SOURCES,
                    "causes": CAUSES_BY_SOURCE,
                    "matches": ListLimit(64),
                    "rules": WORD,
                    "costs": COSTS,
                },
            },
        ),
        StageRow(
            name="contact-discovery",
            input=DiscoveryInput,
            progress=(PeopleSeen,),
            result=Discovered,
            closed_by=ContactsDiscovered,
            topic="cs.contact-discovery.v1",
            budget=timedelta(seconds=60),
            asks=("people_sources",),
            limits={
                DiscoveryInput: {},
                PeopleSeen: {"people": PEOPLE_AT_ONCE},
                Discovered: {
                    "people": PEOPLE_AT_ONCE,
                    "sources": SOURCES,
                    "causes": CAUSES_BY_SOURCE,
                    "costs": COSTS,
                },
            },
        ),
        StageRow(
            name="ranking",
            input=RankingInput,
            result=RankingDone,
            closed_by=ContactsRanked,
            topic="cs.ranking.v1",
            budget=timedelta(seconds=20),
            limits={
                RankingInput: {"people": PEOPLE_AT_ONCE, "contacts": NumberLimit(0, 10_000)},
                RankingDone: {
                    "ranked": PEOPLE_AT_ONCE,
                    "left_out": PEOPLE_AT_ONCE,
                    "rules": WORD,
                    "opinions": OPINIONS_AT_ONCE,
                    "causes": CAUSES_BY_SOURCE,
                    "costs": COSTS,
                },
            },
        ),
        StageRow(
            name="verification",
            input=VerificationInput,
            progress=(MailboxChecked,),
            result=DomainVerified,
            closed_by=MailDomainChecked,
            topic="cs.verification.v1",
            budget=timedelta(seconds=120),
            # A greylist opens when it likes, whatever wait its server names.
            attempts=None,
            item="mail_domain",
            asks=("verifiers",),
            limits={
                VerificationInput: {"mail_domain": HOST, "candidates": PEOPLE_AT_ONCE},
                MailboxChecked: {},
                DomainVerified: {"checked": PEOPLE_AT_ONCE, "costs": COSTS},
            },
        ),
    )
}

#: Findings that are the word of one stage; any stage may fail or be alive.
STAGE_OF_FINDING: Mapping[type[AnyFinding], StageName] = {
    finding: row.name for row in STAGES.values() for finding in (*row.progress, row.result)
}
#: Findings that come before a result.
PROGRESS: tuple[type[AnyFinding], ...] = tuple(
    finding for row in STAGES.values() for finding in row.progress
)
_ROW_CLOSED_BY: Mapping[type[LookupEvent], StageRow] = {
    row.closed_by: row for row in STAGES.values()
}


def item_of(work: StageInput) -> str:
    """Return what distinguishes *work* from its stage's other work in the lookup, or ``""``.

    >>> item_of(VerificationInput("acme.example", ()))
    'acme.example'
    """
    field = next(row.item for row in STAGES.values() if row.input is type(work))
    return "" if field is None else str(getattr(work, field))


class ClosedWork(NamedTuple):
    """A piece of work that an event has ended."""

    lookup: str
    stage: StageName
    item: str


def closed_work(event: object) -> ClosedWork | None:
    """Return whose work *event*, of any category, ends; ``None``: nobody's."""
    if not isinstance(event, LookupEvent) or type(event) not in _ROW_CLOSED_BY:
        return None
    row = _ROW_CLOSED_BY[type(event)]
    item = "" if row.item is None else str(getattr(event, row.item))
    return ClosedWork(event.lookup, row.name, item)
