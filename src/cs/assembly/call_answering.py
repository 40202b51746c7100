"""What answers calls, put together: the same for every kind of log and views."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import msgspec
from structlog import get_logger

from cs.api.admission import SearchAdmission
from cs.api.api import HOLD, MAX_WAITING_SEARCHES, Api
from cs.api.keys import MAX_KEYS, Keys
from cs.api.long_polls import MAX_LONG_POLLS, LongPolls
from cs.api.running_lookups import LOOKUPS, RunningLookups
from cs.api.waiting import AT_ONCE_PER_KEY, KeyLimiter
from cs.checks.checks import CHECKS_PER_MINUTE, Checks, MemoryChecks
from cs.domain.contact import CONTACTS
from cs.domain.operator_actions import ACTS, act_of
from cs.eventlog.categories import category_name
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.projections.follower import Follower
from cs.projections.reading import Reading
from cs.runtime.clock import Clock
from cs.settings import Settings

log = get_logger()

#: Newest events whose keys are folded before a node is ready, and the time for that.
WARM_EVENTS = 2_000
WARM_S = 0.5


class ApiTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a service allows, and what it takes on at once (docs/settings.md, "Overload")."""

    deadline: timedelta
    ceiling: int | None = None  # lookups started per rolling 24 h
    contacts: int = CONTACTS  # of one search
    hold: timedelta = HOLD
    holds: int = MAX_LONG_POLLS
    lookups: int = LOOKUPS
    calls_per_key: int = AT_ONCE_PER_KEY


def api_terms(settings: Settings) -> ApiTerms:
    return ApiTerms(
        deadline=timedelta(seconds=settings.lookup_deadline_s),
        ceiling=settings.lookups_per_day,
        contacts=settings.contacts,
        holds=settings.holds,
        lookups=settings.lookups_at_once,
        calls_per_key=settings.calls_per_key,
    )


async def build_api(
    streams: Streams,
    views: Follower,
    reading: Reading,
    *,
    clock: Clock,
    allowed: ApiTerms,
    checks: Checks | None = None,
    metrics: Metrics | None = None,
) -> Api:
    """Return what answers calls, once *views* have caught up and the keys in use are folded.

    ``views.run`` is the caller's to start afterwards.
    """
    keys = Keys(streams, reading.secrets.shown, reading.secrets.opened_by)
    await views.catch_up()
    await _fold_keys_in_use(streams)
    metrics = metrics or Metrics()
    metrics.cache("key-secrets", keys.__len__, MAX_KEYS)
    views.listen(keys.on_events, keys.READS)
    lookups = RunningLookups(allowed.lookups)
    lookups.load((await reading.unfinished()).lookups)
    views.listen(lookups.on_events, lookups.READS)
    admission = SearchAdmission(
        streams,
        clock,
        ceiling=allowed.ceiling,
        deadline=allowed.deadline,
        contacts=allowed.contacts,
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
        hold=allowed.hold,
        long_polls=LongPolls(allowed.holds),
        search_limiter=KeyLimiter(allowed.calls_per_key, MAX_WAITING_SEARCHES),
        read_limiter=KeyLimiter(allowed.calls_per_key, CHECKS_PER_MINUTE),
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
            "by": act.by,
        }
        log.info(
            act.what, **{name: value for name, value in fields.items() if value is not None}
        )
