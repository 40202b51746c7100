"""The event log in a SQLite file, written and read in threads.

Only the newest events of a stream are read on the event loop: they are few, and in memory.

The file is not checked as a whole when it is opened: SQLite notices a truncated file
by itself, and reading every page would make each start, also of a command run next to the
service, as slow as the log is long.  ``PRAGMA quick_check`` takes 2 ms/MiB with the file
in memory (100,000 small events: 32 ms, opening without it 2 ms; 4 GiB: 8 s and a cold
disk's time on top) and does not see a value that changed.  What is read is checked
instead: events follow each other without a gap and can be decoded, or the log says which
one is damaged.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.mapper import DataKeys, StoredRow
from cs.eventlog.port import NO_STREAM, Ceiling, Where
from cs.eventlog.recent import RecentEvents
from cs.eventlog.sqlite.file import LogFile
from cs.eventlog.sqlite.recorder import FAILED, BatchRecorder
from cs.eventlog.table_log import PreparedAppend, TableLog
from cs.metrics.metrics import Metrics
from cs.sqlite.database import LOCK_TIMEOUT_S, DatabaseThreads
from cs.sqlite.errors import describe

#: How often another process's appends are looked for.
POLL_S = 0.25


class SqliteEventLog(TableLog):
    """Use as ``async with``.

    Args:
        path: Of the file.
        keys: What seals and opens personal values.
        lock_timeout_s: How long to wait for another process's transaction.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        recorder: What writes and reads the file.
        metrics: Where appends are counted.

    Raises:
        LogUnavailable: On entering: the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        keys: DataKeys,
        *,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
        waiting: int | None = None,
        recorder: type[BatchRecorder] = BatchRecorder,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(keys, waiting=waiting, metrics=metrics)
        self._file = LogFile(path)
        self._recorder = recorder.at(self._file.uri, lock_timeout_s)
        self._readers = DatabaseThreads("log-reader", 4)
        self._stack = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _open(self) -> None:
        try:
            self._file.check_not_emptied()
            self._file.make_private()
            await asyncio.to_thread(self._recorder.create_table)
            self._recent = RecentEvents(await self._last_position())
            self._file.opened()
        except (*FAILED, OSError) as error:
            raise LogUnavailable(f"the log could not be opened: {describe(error)}") from error
        self._stack.push_async_callback(self._writer.close)
        poll = asyncio.create_task(self._poll(), name="log-poll")

        async def stop_polling() -> None:
            poll.cancel()
            with suppress(asyncio.CancelledError):
                await poll

        self._stack.push_async_callback(stop_polling)

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await self._stack.aclose()
        self._readers.close()
        self._recorder.datastore.close()

    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[int | Exception]:
        return await asyncio.to_thread(self._write_here, requests)

    def _write_here(self, requests: Sequence[PreparedAppend]) -> list[int | Exception]:
        self._file.check()
        try:
            answers = self._recorder.write(requests)
        except FAILED as error:
            raise LogUnavailable(describe(error)) from error
        self._file.check()  # else what was stored is in no file that anybody will find
        return answers

    async def _select_stream(
        self, stream: str, after: int, limit: int | None
    ) -> Sequence[StoredRow]:
        if after != NO_STREAM and limit is not None:
            # What came since is a row or two that was just written, wanted at every call; a
            # thread would cost ten times the read.
            with self._translated_errors():
                return self._recorder.select_stream(stream, after, limit)
        rows: list[StoredRow] = await self._run(
            self._recorder.select_stream, stream, after, limit
        )
        return rows

    async def _select_page(self, after: int, limit: int) -> Sequence[StoredRow]:
        rows: list[StoredRow] = await self._run(self._recorder.select_page, after, limit)
        return rows

    async def _select_where(self, where: Where, after: int, upto: int) -> Sequence[StoredRow]:
        rows: list[StoredRow] = await self._run(self._recorder.select_where, where, after, upto)
        return rows

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        opens_at: datetime | None = await self._run(self._recorder.opens_at, ceiling)
        return opens_at

    async def _last_position(self) -> int:
        position: int | None = await self._run(self._recorder.max_notification_id)
        return position or 0

    async def _run(self, function: Any, *arguments: Any) -> Any:
        with self._translated_errors():
            return await self._readers.run(function, *arguments)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        if self._closed:
            raise LogUnavailable("the log is closed")
        try:
            yield
        except FAILED as error:
            raise LogUnavailable(f"the log could not be read: {describe(error)}") from error

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            with suppress(LogUnavailable):  # whoever reads next gets it
                self._recent.moved(await self._last_position())
