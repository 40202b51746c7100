"""Log, keys and views of a service, and an operator's acts on them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cs.assembly.folder import open_folder
from cs.assembly.folder_keys import make_next_master_key, open_key_store
from cs.domain.causation import OperatorCause
from cs.domain.mail.bounce import Bounce
from cs.eventlog.audit import Audit
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.port import EventLog, RecordedEvent
from cs.eventlog.streams import Streams
from cs.operations.bounces.recording import BounceRecorder, RowResult
from cs.operations.erasure import Erasure, ErasureResult
from cs.operations.operator import Operator
from cs.operations.retention import Retention
from cs.projections.catalogue import projections
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

E = TypeVar("E")
#: The cause of bounces that a test records.
BOUNCED = OperatorCause(command="mailboxes bounced", who="ops")


class Erasing(Erasure):
    """Erases the person whom an operator names (``cs people erase``)."""

    async def erase_mailbox(self, address: str) -> ErasureResult:
        return await self.erase(email_print(self._keys, address))

    async def erase_profile(self, url: str) -> ErasureResult:
        return await self.erase(profile_print(self._keys, url))


@dataclass(kw_only=True)
class Stores:
    """The stores of a service, as a process other than the service has them."""

    log: Any  # an `EventLog`; a test may use more of its own
    keys: Any  # a `KeyStore`, the same
    views: Views
    clock: Clock = field(default_factory=SystemClock)

    async def catch_up(self) -> None:
        """Bring the views up to the end of the log."""
        await ViewRunner(self.log, self.views, self.keys).catch_up()

    def acting(self, by: str | None = None) -> Operator:
        return Operator(Streams(self.log), self.clock, by)

    @property
    def erasure(self) -> Erasing:
        return Erasing(Streams(self.log), self.keys, self.clock, self.catch_up)

    def retention(self, months: int) -> Retention:
        return Retention(self.views, self.erasure, self.clock, months=months)

    async def record(
        self, bounces: Sequence[Bounce], *, dry_run: bool = False
    ) -> list[RowResult]:
        """Record that mail came back."""
        recorder = BounceRecorder(
            Streams(self.log),
            self.keys,
            self.clock,
            self.catch_up,
            caused_by=BOUNCED,
            dry_run=dry_run,
        )
        return await recorder.record(list(enumerate(bounces, 1)))

    async def recorded(self, *kinds: type[Any]) -> list[RecordedEvent]:
        """Return the events of *kinds*, or all, in order."""
        events = await self.log.tail(0, 100_000)
        return [each for each in events if not kinds or isinstance(each.event, kinds)]

    async def events(self, kind: type[E]) -> list[E]:
        found = (each.event for each in await self.recorded(kind))
        return [event for event in found if isinstance(event, kind)]

    async def stored(self) -> str:
        """Return all that anybody can still read in the log."""
        return repr([each.event for each in await self.recorded()])


async def violations(log: EventLog) -> tuple[list[Any], int]:
    """Return the promises that *log* breaks, and how many searches are not settled."""
    audit = Audit()
    found = [each for event in await log.tail(0, 100_000) for each in audit.check(event)]
    return [*found, *audit.end()], audit.unfinished


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Stores]:
    """Open the data in *folder* as another process does, while a service runs or not."""
    async with open_folder(DataFolder(folder)) as data:
        yield Stores(log=data.log, keys=data.keys, views=data.views)


@asynccontextmanager
async def stores_in_memory(
    log: MemoryEventLog | None = None,
    keys: MemoryKeyStore | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Stores]:
    keys = keys or MemoryKeyStore()
    log, views = log or MemoryEventLog(keys), sqlite_views(None, projections())
    try:
        yield Stores(log=log, keys=keys, views=views, clock=clock or SystemClock())
    finally:
        await views.close()


async def half_changed_master_key(folder: Path) -> None:
    """Begin a change of the master key of *folder* and leave it in the middle."""
    version = make_next_master_key(DataFolder(folder))
    async with open_key_store(DataFolder(folder)) as keys:
        await keys.begin_rotation(version)
        await keys.rewrap("", 1)
        assert await keys.left() > 0
