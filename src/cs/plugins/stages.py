"""All that a stage is written with.

A stage is one step of a lookup: work in, findings out.  One of another make is found by entry
point (``cs.stages``), under the name of the stage whose work it does: a function from
`StageContext` to a stage.  The setting ``stages`` says for which stages it is used; the service
then runs it exactly as it runs its own, from the same topic and in the same consumer group.
An `ExtraStage` (``cs.extra_stages``) is a stage that the service has not.

The service does what is the same for all: it reads and checks messages, sends a heartbeat
every 5 s, ends work at its deadline, drops duplicates of work in flight, repeats the receipt
in every outcome, and commits last.  A program that uses the topics without the service's worker
(docs/topics.md) reads and writes with `decode_work`, `decode_outcome` and `encode`: from the
topic of `STAGE_TOPICS`, in the consumer group that is called like the stage, to `OUTCOMES`,
the operator's prefix before each.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from cs.bus.topics import (
    OUTCOMES as OUTCOMES,
    STAGE_TOPICS as STAGE_TOPICS,
    UNREADABLE as UNREADABLE,
    decode_outcome as decode_outcome,
    decode_work as decode_work,
    encode as encode,
)
from cs.domain.contact import (
    BrandFacts as BrandFacts,
    Candidate as Candidate,
    CheckedPerson as CheckedPerson,
    LeftOut as LeftOut,
    Person as Person,
    PersonFacts as PersonFacts,
    Query as Query,
    RankedPerson as RankedPerson,
    Sighting as Sighting,
)
from cs.domain.lookup.state import Lookup as Lookup
from cs.domain.mail.mailbox import (
    DomainFacts as DomainFacts,
    Evidence as Evidence,
    Line as Line,
    Verdict as Verdict,
)
from cs.domain.stages.table import ExtraStage as ExtraStage
from cs.domain.stages.work import (
    AnyFinding as AnyFinding,
    Discovered as Discovered,
    DiscoveryInput as DiscoveryInput,
    DomainVerified as DomainVerified,
    ExtraInput as ExtraInput,
    FactsFound as FactsFound,
    Failed as Failed,
    MailboxChecked as MailboxChecked,
    Outcome as Outcome,
    PeopleSeen as PeopleSeen,
    RankingDone as RankingDone,
    RankingInput as RankingInput,
    ResolutionInput as ResolutionInput,
    Resolved as Resolved,
    StageName as StageName,
    VerificationInput as VerificationInput,
    Work as Work,
)
from cs.plugins.paid_context import *  # noqa: F403
from cs.plugins.paid_context import AddressGuard, ApiClient, Fetcher, PaidContext, Resolver

#: Sends progress; returns once it is on its way.
Report = Callable[[AnyFinding], Awaitable[None]]


class StageContext(PaidContext, frozen=True, kw_only=True):
    """The context that a stage is made from.

    Attributes:
        trusted: HTTP for base URLs from *settings*.
        guarded: HTTP for every address that came from a caller or the web.
        resolver: DNS.
        guard: Judges addresses that strangers name, before they are contacted.
        monotonic: Seconds, for durations.
    """

    trusted: ApiClient
    guarded: Fetcher
    resolver: Resolver
    guard: AddressGuard
    monotonic: Callable[[], float]

    def _api_client(self) -> ApiClient:
        return self.trusted


class Stage(Protocol):
    """Work in, findings out.

    A stage never touches the event log; it sees nothing but its input.  It keeps no
    state between messages that an answer depends on, so any number of copies may run,
    and it may get the same work twice.
    """

    @property
    def name(self) -> StageName:
        """Entry point, consumer group, topic, log field and metric label.  Never changes."""

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        """Do *work* and return its result, or `Failed`.

        Progress goes to *report* as it comes.  Cancelled when the work's own deadline
        passes.  Anything raised is a bug: it is logged and answered as such.  The event
        loop must stay free: heartbeats are sent on it.
        """
