"""The API, put together: the same for every kind of log and views."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from structlog import get_logger

from cs.api.admission import RunningLookups, SearchAdmission
from cs.api.api import MAX_WAITING_SEARCHES, Api
from cs.api.keys import MAX_KEYS, Keys
from cs.api.waiting import KeyLimiter, LongPolls
from cs.checks.checks import CHECKS_PER_MINUTE, Checks, MemoryChecks
from cs.domain.operator_actions import ACTS, act_of
from cs.eventlog.categories import category_name
from cs.eventlog.port import LogUnavailable, RecordedEvent
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.projections.following import Follower
from cs.projections.reading import Reading
from cs.runtime.clock import Clock
from cs.settings import Settings

log = get_logger()

#: Newest events whose keys are folded before a node is ready, and the time for that.
WARM_EVENTS = 2_000
WARM_S = 0.5


async def build_api(
    streams: Streams,
    views: Follower,
    reading: Reading,
    settings: Settings,
    *,
    clock: Clock,
    checks: Checks | None = None,
    metrics: Metrics | None = None,
) -> Api:
    """Return what answers calls, once *views* have caught up and the keys in use are folded.

    ``views.run`` is the caller's to start afterwards.
    """
    keys = Keys(streams, reading.shown_keys, reading.keys_opened_by, clock.now)
    await views.catch_up()
    await _fold_keys_in_use(streams)
    metrics = metrics or Metrics()
    metrics.cache("key-secrets", keys.__len__, MAX_KEYS)
    views.listen(keys.on_events, keys.READS)
    lookups = RunningLookups(settings.lookups_at_once, settings.lookup_deadline_s / 2)
    lookups.load((await reading.unfinished()).lookups)
    views.listen(lookups.on_events, lookups.READS)
    admission = SearchAdmission(
        streams,
        clock,
        ceiling=settings.lookups_per_day,
        deadline=timedelta(seconds=settings.lookup_deadline_s),
        contacts=settings.contacts,
        lookups=lookups,
        reusable=reading.reusable,
    )
    api = Api(
        streams,
        admission,
        reading,
        keys,
        clock,
        checks or MemoryChecks(),
        long_polls=LongPolls(settings.holds),
        search_limiter=KeyLimiter(settings.calls_per_key, MAX_WAITING_SEARCHES),
        read_limiter=KeyLimiter(settings.calls_per_key, CHECKS_PER_MINUTE),
        metrics=metrics,
    )
    views.listen(log_actions, ACTS)
    return api


async def _fold_keys_in_use(streams: Streams) -> None:
    """Fold the keys of the newest events, or the first search of each is slow."""
    with suppress(LogUnavailable, TimeoutError):  # then the first call of a key folds it
        async with asyncio.timeout(WARM_S):
            newest = await streams.log.stored(
                max(0, await streams.log.head() - WARM_EVENTS), WARM_EVENTS
            )
            in_use = dict.fromkeys(each.stream for each in reversed(newest))
            for stream in in_use:
                if category_name(stream) == "key":
                    with suppress(LogUnavailable):
                        await streams.load(stream)


def log_actions(page: Sequence[RecordedEvent]) -> None:
    """Log what operators did in *page*: ``api_paused``, ``key_revoked`` and so on, and who.

    Of a person only that it was one.
    """
    for recorded in page:
        act = act_of(recorded.stream, recorded.event)
        if act is None:
            continue
        category, _, rest = act.of.partition("-")
        fields = {
            "key": rest if category == "key" else None,
            "brand": act.of if category == "brand" else None,
            "units": act.units,
            "per_minute": act.per_minute,
            "per_day": act.per_day,
            "by": act.by,
        }
        log.info(
            act.what, **{name: value for name, value in fields.items() if value is not None}
        )
