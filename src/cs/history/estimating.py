"""The cost of past live runs, from which the cost of a list of brands is estimated."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from cs.domain.source_figures import WEEKS
from cs.eventlog.port import EventLog
from cs.history.history import pass_over
from cs.history.loading import load
from cs.history.selection import Selection
from cs.keystore.port import KeyStore


class PastRun(msgspec.Struct, frozen=True):
    """The cost of a live run in millionths of a dollar, and whether it was charged for."""

    micros: int
    verified: bool


async def past_runs(log: EventLog, keys: KeyStore, now: datetime) -> Sequence[PastRun]:
    """Return the live runs that ended in the last `WEEKS` weeks and recorded their costs.

    Raises:
        LogUnavailable: The log or the key store is away.
    """
    recent = Selection(types=("brand.lookup-finished",), since=now - timedelta(weeks=WEEKS))
    found = []
    async for page in load(log, keys, recent, unreadable=pass_over):
        for run in page.runs:
            costs = [cost.micros for attempt in run.attempts for cost in attempt.costs]
            if costs and run.finished_at is not None:
                found.append(PastRun(sum(costs), bool(run.verified_then)))
    return found
