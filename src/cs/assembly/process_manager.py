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


class ProcessManager(msgspec.Struct, frozen=True):
    """Its parts; ``retention`` is ``None`` where people are kept for ever."""

    recorder: OutcomeRecorder
    driver: Driver
    retention: Retention | None
    bounces: RecordBounces


async def build_process_manager(
    streams: Streams,
    keys: KeyStore,
    *,
    views: Views,
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

    Args:
        streams: Of the log.
        keys: The data keys.
        views: Where people whose time is over are found.
        follower: Brings the views up to date, or follows them.
        reading: Returns the work that is open at a start.
        bus: Brings outcomes.
        heartbeats: Shared by all recorders and drivers.
        clock: Of deadlines and timers.
        real: The machine's clock, which the silence of stages is measured by.
        verifiers: Names of those whose evidence counts.
        restart_work: Whether the bus forgets its messages with this process.
        months: After how many months people are erased; ``None``: never.
        forget_calls: Erases the paid calls of lookups in which a person is erased.
        directory: The operator's own people, from which an erased person is taken.
        metrics: Where all of it is counted.
    """
    reflected = reached_end(streams.log, follower)
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
        suppression=_suppression(erasure, keys),
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
    retention = None if months is None else Retention(views, erasure, clock, months=months)
    bounces = BounceRecorder(streams, keys, clock, reflected, caused_by=POSTED)
    return ProcessManager(recorder, driver, retention, bounces.record_body)


def reached_end(events: EventLog, follower: Follower) -> Callable[[], Awaitable[None]]:
    """Return what waits until *follower* reflects all that *events* hold when it is called."""

    async def caught_up() -> None:
        await follower.reached(await events.head())

    return caught_up


def _suppression(erasure: Erasure, keys: KeyStore) -> SuppressionFilter:
    """Return the filter that leaves suppressed people out of what stages found."""

    async def erase(
        print_: str, prints: frozenset[str], name: str, caused_by: AnyCause
    ) -> None:
        try:
            await retry_while_unavailable(
                lambda: erasure.erase(print_, prints, [name], caused_by=caused_by)
            )
        except DamagedEvent:
            pass  # that stream is set aside, the others are done
        except DeletedDataRemains as error:  # the search does not wait for another process
            log.warning("erased_data_remains", why=str(error))

    return SuppressionFilter(keys, erase)
