"""The work that stages get, and what they may answer: the shapes, and nothing else.

What is the same for every stage, its topic, its budget and so on, is a row of
`cs.domain.stages.table`.

Inputs travel inside ``stage issued`` events and on the stage topics; outcomes travel
on ``cs.outcomes``.  A stage sees nothing but its input, so it can be written in any
language (docs/architecture.md, "Stages").
"""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from cs.domain.contact import (
    BrandFacts,
    Candidate,
    CheckedPerson,
    LeftOut,
    Opinion,
    Person,
    PersonFacts,
    Query,
    RankedPerson,
    Sighting,
    SourceMatches,
)
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.source_cost import SourceCost, SourceFigures

#: One of `cs.domain.stages.table.STAGES`; in a log also of a package that is not installed.
StageName: TypeAlias = str


# Inputs.
class ResolutionInput(msgspec.Struct, frozen=True, tag="resolution"):
    query: Query


class DiscoveryInput(msgspec.Struct, frozen=True, tag="discovery"):
    brand: BrandFacts


class RankingInput(msgspec.Struct, frozen=True, tag="ranking"):
    brand: BrandFacts
    people: tuple[Person, ...]
    contacts: int = 25  # shown at most


class VerificationInput(msgspec.Struct, frozen=True, tag="verification"):
    """People to be checked at one mail domain, in order of rank, and what is known of it."""

    mail_domain: str
    candidates: tuple[Candidate, ...]
    known: DomainFacts = DomainFacts()


class ExtraInput(msgspec.Struct, frozen=True, tag="extra"):
    """Input of an extra stage: people, of each only the fields that its row ``sees``."""

    brand: BrandFacts
    people: tuple[Person, ...]
    item: str = ""


StageInput = ResolutionInput | DiscoveryInput | RankingInput | VerificationInput | ExtraInput


# What a stage found.  Progress comes any number of times, one of the others last.
class Finding(msgspec.Struct, frozen=True, kw_only=True):
    pass


class Alive(Finding, frozen=True, tag="alive"):
    """The work goes on: a heartbeat, sent every 5 s, never stored."""


class PeopleSeen(Finding, frozen=True, tag="people-seen"):
    """Progress of contact discovery."""

    people: tuple[Sighting, ...]


class MailboxChecked(Finding, frozen=True, tag="mailbox-checked"):
    """Progress of verification: one person at one mail domain is settled."""

    checked: CheckedPerson


class Resolved(Finding, frozen=True, tag="resolved"):
    """Result of brand resolution; ``brand`` is set exactly when it is matched."""

    status: Literal["matched", "no_match", "ambiguous"]
    brand: BrandFacts | None = None
    sources: dict[str, str] = {}  # source -> how its run ended
    causes: dict[str, str] = {}  # source -> why, of those that could not answer
    matches: tuple[SourceMatches, ...] | None = None  # all it chose from; `None`: not said
    rules: str | None = None  # that chose (`cs.domain.rule_sets`)
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


class Discovered(Finding, frozen=True, tag="discovered"):
    """Result of contact discovery: all people found, progress included.

    ``conclusive`` is false when a source failed or was limited, so that "no people" is not
    an answer (contract C6).
    """

    people: tuple[Sighting, ...]
    sources: dict[str, str] = {}
    conclusive: bool = True
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


class RankingDone(Finding, frozen=True, tag="ranked"):
    """Result of ranking, best first."""

    ranked: tuple[RankedPerson, ...]
    left_out: tuple[LeftOut, ...] = ()
    rules: str | None = None  # that ranked (`cs.domain.rule_sets`)
    opinions: tuple[Opinion, ...] = ()  # on headlines that the rules are unsure of
    causes: dict[str, str] = {}  # who was asked for them -> why there are none
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


class DomainVerified(Finding, frozen=True, tag="domain-verified"):
    """Result of verification at one mail domain: all who were asked for."""

    checked: tuple[CheckedPerson, ...]
    learned: DomainFacts = DomainFacts()
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


class FactsFound(Finding, frozen=True, tag="facts-found"):
    """Result of an extra stage: facts about some of the people that it was given."""

    people: tuple[PersonFacts, ...] = ()
    causes: dict[str, str] = {}  # service -> why it could not answer
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


#: Why a stage failed that cannot do its work before the operator changes something.
NO_BRAND_SOURCE = "no-brand-source-configured"
NO_PEOPLE_SOURCE = "no-people-source-configured"
NO_VERIFIER = "no-verifier-configured"
SOURCES_REFUSE = "sources-refuse"


class Failed(Finding, frozen=True, tag="failed"):
    """This attempt ended without a result.

    ``checked`` holds who is undecided in a failed verification, with the evidence so
    far: that is what stays if no further attempt is made.  ``causes`` says by source why
    it could not answer; it names no person.
    """

    why: str  # stable, lower-case: "timeout", "sources-away", "try-later", "bug"
    retryable: bool
    retry_in_s: float | None = None
    checked: tuple[CheckedPerson, ...] = ()
    learned: DomainFacts = DomainFacts()
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()  # in the order of asking


AnyFinding = (
    Alive
    | PeopleSeen
    | MailboxChecked
    | Resolved
    | Discovered
    | RankingDone
    | DomainVerified
    | FactsFound
    | Failed
)


def sightings_in(finding: AnyFinding) -> tuple[Sighting, ...]:
    """Return the people that *finding* brings as a source saw them."""
    return finding.people if isinstance(finding, PeopleSeen | Discovered) else ()


def checked_in(finding: AnyFinding) -> tuple[CheckedPerson, ...]:
    """Return the mailboxes that *finding* brings."""
    if isinstance(finding, MailboxChecked):
        return (finding.checked,)
    return finding.checked if isinstance(finding, DomainVerified | Failed) else ()


def with_people(
    finding: AnyFinding, sightings: tuple[Sighting, ...], checked: tuple[CheckedPerson, ...]
) -> AnyFinding:
    """Return *finding* with these in place of what `sightings_in` and `checked_in` return."""
    match finding:
        case PeopleSeen() | Discovered():
            return replace(finding, people=sightings)
        case MailboxChecked():
            return replace(finding, checked=checked[0]) if checked else finding
        case DomainVerified() | Failed():
            return replace(finding, checked=checked)
        case _:
            return finding


def with_costs(finding: AnyFinding, costs: tuple[SourceCost, ...]) -> AnyFinding:
    """Return *finding* with *costs*, if it ends an attempt that asks a service and has none."""
    if isinstance(finding, Alive | PeopleSeen | MailboxChecked) or finding.costs:
        return finding
    return replace(finding, costs=costs) if costs else finding


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One message on a stage topic."""

    lookup: str
    stage: StageName
    item: str = ""  # the mail domain, in verification and where an extra stage names one
    attempt: int
    deadline_at: datetime
    input: StageInput
    receipt: str = ""  # shows that we issued the work: every outcome repeats it
    figures: tuple[SourceFigures, ...] = ()  # of services the stage has paid, for its order


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One message on ``cs.outcomes``."""

    lookup: str
    stage: StageName
    item: str = ""
    attempt: int
    finding: AnyFinding
    receipt: str = ""  # of the work that it answers
