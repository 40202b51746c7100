"""What the admin port gives bounces to."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import islice
from typing import Literal

import msgspec

from cs.domain.causation import OperatorCause
from cs.domain.mail.bounce import Bounce
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.bounces.bounce_file import rows_in
from cs.operations.bounces.importing import BounceCounts
from cs.operations.bounces.recording import BounceRecorder, Result
from cs.runtime.clock import Clock


class RowResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one row, by its number from 1; ``error``: why it tells of no bounce."""

    row: int
    result: Result | Literal["ignored", "bad"]
    kind: str | None = None
    why: str | None = None
    corrected: int | None = None
    error: str | None = None


class RecordedBody(msgspec.Struct, frozen=True):
    """What became of all rows of a body, and of each."""

    counts: BounceCounts
    results: list[RowResult]


class JsonBounces:
    """Records bounces that come as JSON (`cs.admin.app.RecordBounces`).

    Args:
        reflected: Returns when the views reflect all that is in the log.
    """

    def __init__(
        self,
        streams: Streams,
        keys: KeyStore,
        clock: Clock,
        reflected: Callable[[], Awaitable[None]],
    ) -> None:
        cause = OperatorCause(command="POST /mailboxes/bounced")
        self._recorder = BounceRecorder(streams, keys, clock, reflected, caused_by=cause)
        self._clock = clock
        # One body at a time: threads that read others would take the interpreter from calls.
        self._reading = asyncio.Lock()

    async def record(self, body: bytes, max_rows: int) -> RecordedBody:
        """Record the bounces in *body*, at most *max_rows*."""
        async with self._reading:
            rows = await asyncio.to_thread(_rows_of, body, self._clock.now(), max_rows)
        return await self._recorded(rows)

    async def _recorded(self, rows: list[Bounce | str | None]) -> RecordedBody:
        bounces = [row for row in rows if row is not None and not isinstance(row, str)]
        became = iter(
            zip(bounces, await self._recorder.record(bounces), strict=True) if bounces else ()
        )
        counts = BounceCounts(rows=len(rows))
        results: list[RowResult] = []
        for number, row in enumerate(rows, 1):
            if isinstance(row, str):
                counts.bad += 1
                results.append(RowResult(row=number, result="bad", error=row))
            elif row is None:
                counts.ignored += 1
                results.append(RowResult(row=number, result="ignored"))
            else:
                bounce, recorded = next(became)
                counts.count(bounce, recorded)
                results.append(
                    RowResult(
                        row=number,
                        result=recorded.result,
                        kind=recorded.kind.value,
                        why=recorded.why,
                        corrected=recorded.corrected,
                    )
                )
        return RecordedBody(counts, results)


def _rows_of(body: bytes, now: datetime, max_rows: int) -> list[Bounce | str | None]:
    rows = list(islice(rows_in(body, now), max_rows + 1))
    if not rows:
        raise ValueError("there is no row")
    if len(rows) > max_rows:
        raise ValueError(f"there are more than {max_rows} rows")
    return rows
