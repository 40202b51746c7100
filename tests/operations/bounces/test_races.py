"""A bounce that is recorded while a check of the same mailbox is on its way to the log."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from cs.domain.brand.events import MailboxVerified
from cs.domain.causation import OperatorCause
from cs.domain.mail.bounce import Bounce
from cs.domain.mail_domain import BounceReported
from cs.domain.messages import Event
from cs.eventlog.port import Append, Ceiling
from cs.eventlog.streams import Streams
from cs.operations.bounces.recording import BounceRecorder, RowResult
from cs.operations.operator import NewSecret
from cs.projections.runner import ViewRunner
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ADA
from operations.erasure.service import ADA_MAILBOX, Erasable, at_zenith, erasable, outside

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
CAUSE = OperatorCause(command="mailboxes bounced", who="ops")


class InterruptedLog(MemoryEventLog):
    """Does something else just before the first append of an event of one type.

    Attributes:
        before: By type of event what is done, once.
    """

    before: dict[type[Event], Callable[[], Awaitable[None]]]

    def __init__(self, keys: MemoryKeyStore) -> None:
        super().__init__(keys)
        self.before = {}

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        for event in (event for each in appends for event in each.events):
            interrupt = self.before.pop(type(event), None)
            if interrupt is not None:
                await interrupt()
        return await super().append(appends, ceiling)


@asynccontextmanager
async def found_at_acme() -> AsyncIterator[tuple[Erasable, InterruptedLog, NewSecret]]:
    """Run a service that has found Ada at Acme; give it, its log and the key that asked."""
    keys = MemoryKeyStore()
    log = InterruptedLog(keys)
    tools = outside((ADA,), zenith=(at_zenith(ADA),), zenith_mail=("acme.test",))
    async with erasable(tools, keys, clock=ManualClock(NOW), log=log) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        yield service, log, key


async def report(service: Erasable) -> RowResult:
    """Record that mail to Ada came back."""
    views = ViewRunner(service.log, service.views, service.keys)
    recorder = BounceRecorder(
        Streams(service.log),
        service.keys,
        ManualClock(NOW),
        views.catch_up,
        caused_by=CAUSE,
    )
    (became,) = await recorder.record(
        [(1, Bounce(address=ADA_MAILBOX, at=NOW, status="5.1.1"))]
    )
    return became


async def test_a_bounce_between_a_check_and_its_storing_refutes_it() -> None:
    async with found_at_acme() as (service, log, key):
        became: list[RowResult] = []

        async def bounce() -> None:
            became.append(await report(service))

        log.before[MailboxVerified] = bounce
        zenith = (await service.search(key, brand="Zenith")).json()

        assert [each.corrected for each in became] == [1], "of Acme alone: Zenith has none yet"
        assert (zenith["status"], zenith["reason"]) == ("failed", "no_emails")
        assert ADA_MAILBOX not in str(zenith)


async def test_a_check_stored_while_a_bounce_is_recorded_is_corrected() -> None:
    async with found_at_acme() as (service, log, key):
        shown: list[str] = []

        async def search() -> None:
            found = (await service.search(key, brand="Zenith")).json()
            assert ADA_MAILBOX in str(found)
            shown.append(found["id"])

        log.before[BounceReported] = search
        became = await report(service)

        assert became.corrected == 2
        assert ADA_MAILBOX not in str(await service.read(key, *shown))
