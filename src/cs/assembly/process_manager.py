"""The process manager on any stores: it records what stages answer, and drives lookups."""

from collections.abc import Awaitable, Callable, Collection, Iterable

import msgspec
from structlog import get_logger

from cs.admin.app import RecordBounces
from cs.bus.port import Bus
from cs.directory.store import PeopleDirectory
from cs.domain.causation import AnyCause
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import DamagedEvent, EventLog
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.operations.bounces.recording import POSTED, BounceRecorder
from cs.operations.erasure import Erasure
from cs.operations.retention import Retention
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import Heartbeats
from cs.pipeline.outcomes import OutcomeRecorder
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.suppression import SuppressionFilter
from cs.projections.following import Follower
from cs.projections.reading import Reading
from cs.projections.views import Views
from cs.runtime.clock import Clock
from cs.runtime.private_files import DeletedDataRemains

log = get_logger()


class Stores(msgspec.Struct, frozen=True):
    """The stores of a service, open: those of a data folder, or of shared databases.

    Attributes:
        snapshots: Of folded streams; none are made without.
        check_writes: Raises `LogUnavailable` while the log can be read and not written.
    """

    log: EventLog
    keys: KeyStore
    views: Views
    snapshots: Snapshots | None = None
    check_writes: Callable[[], Awaitable[None]] | None = None


class ProcessManager(msgspec.Struct, frozen=True):
    """Its parts; ``retention`` is ``None`` where people are kept for ever."""

    recorder: OutcomeRecorder
    driver: Driver
    retention: Retention | None
    bounces: RecordBounces


async def build_process_manager(
    data: Stores,
    streams: Streams,
    *,
    follower: Follower,
    reading: Reading,
    bus: Bus,
    heartbeats: Heartbeats,
    clock: Clock,
    real: Clock,
    verifiers: Collection[str],
    restart_work: bool,
    months: int | None,
    forget_calls: Callable[[Iterable[str]], Awaitable[int]] | None,
    directory: PeopleDirectory | None,
    metrics: Metrics,
) -> ProcessManager:
    """Return the parts, none of which runs yet.

    The silence of stages is measured by *real*, the machine's clock; deadlines and timers go by
    *clock*.  Evidence of *verifiers* counts, and of no others.  With *restart_work* the bus
    forgets its messages with this process.  After *months* people are erased, without it never.
    Where a person is erased, *forget_calls* erases the paid calls of their lookups, and they
    are taken from the operator's own *directory*.
    """
    keys = data.keys
    reflected = reached_end(data.log, follower)
    erasure = Erasure(
        streams, keys, clock, reflected, forget_calls=forget_calls, directory=directory
    )
    recorder = OutcomeRecorder(
        streams,
        bus,
        clock,
        heartbeats,
        receipts=Receipts(await keys.secret(SHARED)),
        verifiers=verifiers,
        suppression=_suppression(erasure, keys, clock),
        keys=keys,
        metrics=metrics,
    )
    driver = Driver(
        streams,
        reading,
        clock,
        heartbeats,
        restart_work=restart_work,
        real=real,
        metrics=metrics,
        keys=keys,
    )
    retention = None if months is None else Retention(data.views, erasure, clock, months=months)
    bounces = BounceRecorder(streams, keys, clock, reflected, caused_by=POSTED)
    return ProcessManager(recorder, driver, retention, bounces.record_body)


def reached_end(events: EventLog, follower: Follower) -> Callable[[], Awaitable[None]]:
    """Return what waits until *follower* reflects all that *events* hold when it is called."""

    async def caught_up() -> None:
        await follower.reached(await events.head())

    return caught_up


def _suppression(erasure: Erasure, keys: KeyStore, clock: Clock) -> SuppressionFilter:
    """Return the filter that leaves suppressed people out of what stages found."""

    async def erase(
        print_: str, prints: frozenset[str], name: str, caused_by: AnyCause
    ) -> None:
        at = clock.now()
        try:
            await retry_while_unavailable(
                lambda: erasure.erase(print_, prints, [name], caused_by=caused_by, at=at)
            )
        except DamagedEvent:
            pass  # that stream is set aside, the others are done
        except DeletedDataRemains as error:  # the search does not wait for another process
            log.warning("erased_data_remains", why=str(error))

    return SuppressionFilter(keys, erase)
