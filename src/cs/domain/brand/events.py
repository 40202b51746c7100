"""Events and commands of a brand.

Events are stored for ever: a topic is never renamed or reused, a new field has a
default, a changed meaning is a new event.  Commands are never stored.  The rules are in
`cs.domain.brand.brand` (the category) and `cs.domain.lookup.state` (one live run).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cs.domain.contact import (
    CONTACTS,
    BouncedMailbox,
    BrandFacts,
    CheckedPerson,
    Contact,
    LeftOut,
    Opinion,
    Person,
    PersonFacts,
    Query,
    RankedPerson,
    SourceMatches,
)
from cs.domain.key import SearchOutcome
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import KnownDomain
from cs.domain.messages import Command, Event
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import AnyFinding, StageInput, StageName

#: How long a lookup may take (contract S9).
DEADLINE = timedelta(seconds=120)


# Events.
class LookupEvent(Event, frozen=True, kw_only=True):
    lookup: str


class LookupStarted(LookupEvent, frozen=True, kw_only=True):
    number: int  # counts the lookups of this stream from 1
    query: Query
    deadline_at: datetime
    contacts: int = CONTACTS  # shown at most


class StageIssued(LookupEvent, frozen=True, kw_only=True):
    """Work for a stage; the relay publishes it as it stands here."""

    stage: StageName
    item: str = ""
    attempt: int
    deadline_at: datetime
    input: StageInput
    after_silence: bool = False
    after_restart: bool = False
    receipt_due: bool = False  # an answer without a receipt is none (docs/topics.md)


class AttemptFailed(LookupEvent, frozen=True, kw_only=True):
    """An attempt ended without a result; the next one is due at ``retry_at``, if set.

    ``causes``, here and below, is by source why it could not answer (`cs.domain.cause`);
    ``costs`` what each that was or might have been asked cost in the attempt, in the order of
    asking; empty if it was not recorded.
    """

    stage: StageName
    item: str = ""
    attempt: int
    why: str
    retry_at: datetime | None = None
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()


class BrandResolved(LookupEvent, frozen=True, kw_only=True):
    status: str  # matched | no_match | ambiguous
    brand: BrandFacts | None = None
    sources: dict[str, str] = {}
    causes: dict[str, str] = {}
    matches: tuple[SourceMatches, ...] | None = None  # all it chose from; `None`: not recorded
    rules: str | None = None  # that chose (`cs.domain.rule_sets`); `None`: not recorded
    costs: tuple[SourceCost, ...] = ()


class PeopleFound(LookupEvent, frozen=True, kw_only=True):
    """People not known to this lookup before."""

    people: tuple[Person, ...]


class ContactsDiscovered(LookupEvent, frozen=True, kw_only=True):
    """Discovery is over; ``people`` are those not found before."""

    people: tuple[Person, ...]
    sources: dict[str, str] = {}
    conclusive: bool
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()


class ContactsRanked(LookupEvent, frozen=True, kw_only=True):
    ranked: tuple[RankedPerson, ...]
    left_out: tuple[LeftOut, ...] = ()
    rules: str | None = None  # that ranked (`cs.domain.rule_sets`); `None`: not recorded
    opinions: tuple[Opinion, ...] = ()  # that they were given on what they were unsure of
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()


class MailboxVerified(LookupEvent, frozen=True, kw_only=True):
    checked: CheckedPerson


class MailboxNotVerified(LookupEvent, frozen=True, kw_only=True):
    checked: CheckedPerson


class MailDomainChecked(LookupEvent, frozen=True, kw_only=True):
    """No person is left to be checked at this mail domain."""

    mail_domain: str
    learned: DomainFacts = DomainFacts()
    costs: tuple[SourceCost, ...] = ()


class StageDone(LookupEvent, frozen=True, kw_only=True):
    """An extra stage ended its work on ``item``, with facts about these people."""

    stage: StageName
    item: str = ""
    people: tuple[PersonFacts, ...] = ()
    causes: dict[str, str] = {}
    costs: tuple[SourceCost, ...] = ()


class LookupFinished(LookupEvent, frozen=True, kw_only=True):
    """The result, stored once for every search it answers.

    ``verified_from`` counts verified people by the source that named them first,
    ``verified_by`` by the verifier that confirmed them.
    """

    outcome: SearchOutcome
    reusable: bool
    verified: int
    cut_off: bool = False
    brand: BrandFacts | None = None
    contacts: tuple[Contact, ...] = ()
    verified_from: dict[str, int] = {}
    verified_by: dict[str, int] = {}


class ContactsErased(LookupEvent, frozen=True, kw_only=True):
    """People of this lookup were erased; ``contacts`` are all that its result has left.

    A lookup that runs has no contacts yet; its ``people`` are no longer looked for.
    """

    people: tuple[str, ...]  # "p1"
    verified: int = 0
    aged_out: bool = False  # all of them, because no search returned them for long
    contacts: tuple[Contact, ...] = ()


class ContactBounced(LookupEvent, frozen=True, kw_only=True):
    """Mail to a verified mailbox of this lookup came back for good: it is verified no more.

    ``contacts`` are all of its result, that one now without an e-mail.  A lookup that runs
    has none yet, and shows it without one when it ends.

    Attributes:
        bounced_at: When it came back; ``status``: enhanced code, if one was reported; ``why``:
            what it was (`cs.domain.mail.bounce`).
        verifier: Who had vouched for it; ``reason``: by which rule; ``rules``: of which set.
        verified_at: When.
    """

    bounced: BouncedMailbox
    bounced_at: datetime
    status: str | None = None
    why: str
    verifier: str
    reason: str | None = None
    rules: str | None = None
    verified_at: datetime
    verified: int = 0
    contacts: tuple[Contact, ...] = ()


class BrandForgotten(Event, frozen=True, kw_only=True):
    """The operator wants the next search to be live."""

    by: str | None = None  # account or label of the operator


BrandEvent = (
    LookupStarted
    | StageIssued
    | AttemptFailed
    | BrandResolved
    | PeopleFound
    | ContactsDiscovered
    | ContactsRanked
    | MailboxVerified
    | MailboxNotVerified
    | MailDomainChecked
    | StageDone
    | LookupFinished
    | ContactsErased
    | ContactBounced
    | BrandForgotten
)

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[BrandEvent]] = {
    "brand.lookup-started.v1": LookupStarted,
    "brand.stage-issued.v1": StageIssued,
    "brand.attempt-failed.v1": AttemptFailed,
    "brand.resolved.v1": BrandResolved,
    "brand.people-found.v1": PeopleFound,
    "brand.contacts-discovered.v1": ContactsDiscovered,
    "brand.contacts-ranked.v1": ContactsRanked,
    "brand.mailbox-verified.v1": MailboxVerified,
    "brand.mailbox-not-verified.v1": MailboxNotVerified,
    "brand.mail-domain-checked.v1": MailDomainChecked,
    "brand.stage-done.v1": StageDone,
    "brand.lookup-finished.v1": LookupFinished,
    "brand.contacts-erased.v1": ContactsErased,
    "brand.contact-bounced.v1": ContactBounced,
    "brand.forgotten.v1": BrandForgotten,
}


# Commands.
class StartLookup(Command, frozen=True, kw_only=True):
    """Start a run, unless one is live.

    Attributes:
        nonce: Random, without a dot: distinguishes the run from one of the same number that
            a restored log has lost.  Empty only where nothing outlives the log.
    """

    stream: str
    query: Query
    nonce: str = ""
    deadline: timedelta = DEADLINE
    contacts: int = CONTACTS


class _LookupCommand(Command, frozen=True, kw_only=True):
    """A command about one live run; ``known`` is what is known of mail domains."""

    lookup: str
    known: dict[str, KnownDomain] = {}


class RecordFinding(_LookupCommand, frozen=True, kw_only=True):
    """Record the answer of a stage.

    Attributes:
        verifiers: The names of those that are configured: no other proves a mailbox.
        refuted: Addresses in the finding from which mail came back lately.
    """

    stage: StageName
    item: str = ""
    attempt: int
    finding: AnyFinding
    verifiers: frozenset[str] = frozenset()
    refuted: frozenset[str] = frozenset()


class RetryDue(_LookupCommand, frozen=True, kw_only=True):
    """Issue again what is due at ``at``."""


class ReissueSilent(_LookupCommand, frozen=True, kw_only=True):
    """An attempt sends no heartbeats; issue the work again, at most twice."""

    stage: StageName
    item: str = ""
    attempt: int


class Restart(_LookupCommand, frozen=True, kw_only=True):
    """Whatever was in flight is lost: issue all open work again."""


class PassDeadline(_LookupCommand, frozen=True, kw_only=True):
    """End the run if its time is up."""


class EraseContacts(Command, frozen=True, kw_only=True):
    """Leave *people* out of a lookup; ``contacts`` is what it had found, if it has ended."""

    lookup: str
    people: tuple[str, ...]
    contacts: tuple[Contact, ...] = ()
    aged_out: bool = False  # all there are; stored once even if all were erased before


class RecordBounce(Command, frozen=True, kw_only=True):
    """Mail to a mailbox came back for good.

    Attributes:
        checked: What verified it; ``verified_at``: when.
        contacts: What the lookup shows, if it has ended.
    """

    lookup: str
    bounced: BouncedMailbox
    bounced_at: datetime
    status: str | None
    why: str
    checked: CheckedPerson
    verified_at: datetime
    contacts: tuple[Contact, ...] = ()


class ForgetBrand(Command, frozen=True, kw_only=True):
    by: str | None = None


#: Commands about one live run.
LookupCommand = RecordFinding | RetryDue | ReissueSilent | Restart | PassDeadline
BrandCommand = StartLookup | ForgetBrand | EraseContacts | RecordBounce | LookupCommand
