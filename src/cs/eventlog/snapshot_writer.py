"""Snapshots on their way to the store: submitting one never waits, losing one is harmless."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from structlog import get_logger

from cs.eventlog.errors import SnapshotsUnavailable
from cs.eventlog.snapshots import Snapshot

log = get_logger()

#: Streams whose snapshots may wait to be written; further ones are dropped.
WAITING = 1_000


class SnapshotWriter(ABC):
    """Use as ``async with``.  Base of what reads and writes the table in each database."""

    def __init__(self) -> None:
        self._waiting: dict[str, Snapshot] = {}
        self._some = asyncio.Event()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _newest(self, stream: str, shape: str) -> Snapshot | None:
        """Return the newest of *stream* in *shape*; may raise `SnapshotsUnavailable`."""

    @abstractmethod
    async def _write(self, snapshots: Sequence[Snapshot]) -> None:
        """Let each take the place of older ones of its stream and shape.

        Raises:
            SnapshotsUnavailable: None was written.
        """

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._drain(), name="snapshots")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what still waits."""
        assert self._task is not None
        self._closed = True
        self._some.set()
        await self._task

    async def find(self, stream: str, shape: str) -> Snapshot | None:
        waiting = self._waiting.get(stream)
        if waiting is not None and waiting.shape == shape:
            return waiting
        try:
            return await self._newest(stream, shape)
        except SnapshotsUnavailable as error:
            log.warning("snapshot_not_read", stream=stream, why=str(error))
            return None

    def submit(self, snapshot: Snapshot) -> None:
        full = len(self._waiting) >= WAITING and snapshot.stream not in self._waiting
        if full or self._closed:
            return
        self._waiting[snapshot.stream] = snapshot
        self._some.set()

    async def _drain(self) -> None:
        while self._waiting or not self._closed:
            await self._some.wait()
            if not self._closed:
                self._some.clear()
            batch, self._waiting = list(self._waiting.values()), {}
            if not batch:
                continue
            try:
                await self._write(batch)
            except SnapshotsUnavailable as error:
                log.warning("snapshots_not_written", streams=len(batch), why=str(error))
