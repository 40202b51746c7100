"""API keys: all of them, and one with its ledger, its windows now and when it runs out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.addresses import chosen, event_link, key_link, position_of, search_link
from cs.console.views import ROWS, Action, Form, Input, Parts, Secret, View
from cs.domain.codec import topic_of
from cs.domain.key import Key, SearchAdmitted, SearchSettled, day_window, minute_window
from cs.domain.operator_actions import act_of
from cs.domain.rate_limits import RateWindow
from cs.eventlog.port import NO_STREAM, RecordedEvent, Where
from cs.history.newest import newest_of
from cs.history.pages import Section, facts, listed, text
from cs.projections.usage import UsageRow, day_after
from cs.runtime.durations import in_words

#: Days of use that a forecast is made from.
FORECAST_DAYS = 90
_RUNS_OUT = "Runs out about: at the average since it was issued; a key's page has more."
#: Units that one grant may add or take away.
MOST = 1_000_000_000
#: How long the old secret of a rotated key may work on.
AT_ONCE = "not at all"
OVERLAPS = {
    AT_ONCE: timedelta(),
    "1 hour": timedelta(hours=1),
    **{f"{days} day{'s' if days > 1 else ''}": timedelta(days) for days in (1, 2, 7)},
}


async def list_keys(parts: Parts, request: Request, _: Session) -> View:
    """Show every key, or those that some words mean, with quota and use; never a secret."""
    words = chosen(request, "q")
    found = await keys_meant(parts, words)
    found.sort(key=lambda each: each[1].issued_at, reverse=True)
    first = position_of(request, "from") or 0
    rows = [
        {
            "key": key_link(key_id),
            "label": row.label,
            "last4": row.last4,
            "quota": row.quota,
            "used": row.used,
            "remaining": row.quota - row.used,
            "running": row.reserved,
            "last_used": row.last_search_at,
            "runs_out_about": row.runs_out_on(parts.clock.now()),
            "revoked": row.revoked,
        }
        for key_id, row in found[first : first + ROWS]
    ]
    none = "There is no such key. `cs keys create` makes one."
    return View(
        title="Keys",
        sections=[listed("Keys", rows, about=_RUNS_OUT, none=none)],
        command="cs keys list",
        filters=[Input("q", "Id, label or last four characters", words)],
        place="from",
        older=first + ROWS if len(found) > first + ROWS else None,
    )


async def keys_meant(parts: Parts, words: str | None) -> list[tuple[str, UsageRow]]:
    """Return id and row of the keys with *words* as id, label or end; of all without words."""
    every, lower = await parts.reading.keys(), (words or "").lower()
    return [
        (key_id, row)
        for key_id, row in every
        if not words or lower in {key_id, row.label.lower(), row.last4.lower()}
    ]


async def show_key(parts: Parts, request: Request, _: Session) -> View:
    """Show one key: what is left, how long that lasts, and its newest events."""
    key_id = request.path_params["key"]
    folded = await parts.streams.key(key_id)
    if folded.version == NO_STREAM:
        raise HTTPException(404, f"there is no key {key_id}; the list of keys has all")
    key: Key = folded.state
    stream, before = f"key-{key_id}", position_of(request)
    events = await newest_of(parts.log, parts.streams, stream)
    found, more = await parts.newest(Where(streams=frozenset({stream})), before)
    rows = [_movement(each) for each in await parts.opened(found)]
    days = _by_day(events, parts.clock.now())
    return View(
        title=key.label or key_id,
        lead=f"{key_id}, ends in {key.last4}" + (", revoked" if key.revoked else ""),
        sections=[
            _figures(key, days, parts.clock.now()),
            listed("Newest events", rows),
            listed("What operators did", acts_in(events)),
        ],
        command=f"cs ledger {key_id}",
        actions=_actions(key_id, key),
        older=more,
        times=[day.timestamp() for day in days],
        plots={
            "Searches and charges by day": {
                "searches": [searches for searches, _ in days.values()],
                "charged": [charged for _, charged in days.values()],
            }
        },
    )


async def grant(parts: Parts, request: Request, session: Session, form: Form) -> str:
    """Add to the quota of a key, or take away."""
    number = _whole(form, "units")
    if not 0 < abs(number) <= MOST:
        raise HTTPException(400, f"units: from -{MOST} to {MOST}, and not 0")
    key = await parts.operator(session).grant_quota(request.path_params["key"], number)
    return f"The quota is {key.quota} now. To undo it, grant {-number}."


async def limit(parts: Parts, request: Request, session: Session, form: Form) -> str:
    key_id = request.path_params["key"]
    before = _limits((await parts.streams.key(key_id)).state)
    limits = _whole(form, "per_minute"), _whole(form, "per_day")
    key = await parts.operator(session).limit_key(key_id, *limits)
    return f"The key may make {_limits(key)} now. To undo it, set {before}."


async def rotate(parts: Parts, request: Request, session: Session, form: Form) -> str:
    """Give a key a new secret; the old one may work on for a while."""
    overlap = OVERLAPS.get(form.get("overlap", AT_ONCE))
    if overlap is None:
        raise HTTPException(400, f"overlap: one of {', '.join(OVERLAPS)}")
    new = await parts.operator(session).rotate_key(request.path_params["key"], overlap)
    old = f"The old secret works until {text(new.old_until)}. " if new.old_until else ""
    return Secret(f"{old}The new secret, shown this once: {new.key}")


async def revoke(parts: Parts, request: Request, session: Session, _: Form) -> str:
    changed = await parts.operator(session).revoke_key(request.path_params["key"])
    return "The key is revoked." if changed else "The key was revoked before."


def _figures(key: Key, days: Mapping[datetime, tuple[int, int]], now: datetime) -> Section:
    remaining = key.quota - key.used
    charged = sum(charged for _, charged in days.values())
    begun = min(days, default=now)
    length = max((now - begun) / timedelta(days=1), 1.0)
    a_day = charged / length
    lasts = f"nothing charged in {FORECAST_DAYS} days"
    if a_day:
        on = day_after(remaining / a_day, now)
        lasts = in_words(remaining / a_day * 86_400) + (f", on {on}" if on else "")
    values = {
        "quota": key.quota,
        "used": key.used,
        "remaining": remaining,
        "running": key.reserved,
        "charged a day": f"{a_day:.2f}",
        "runs out in": lasts if remaining > 0 else "it has run out",
        "limits": _limits(key),
        "this minute": _window(minute_window(key, now)),
        "this day": _window(day_window(key, now)),
        "old secret ends": key.old_until,
    }
    return Section(heading="Quota", facts=facts(values))


def _by_day(
    events: Sequence[RecordedEvent], now: datetime
) -> Mapping[datetime, tuple[int, int]]:
    """Return searches and charges of each of the last days, from the first with any."""
    searches, charges = Counter[datetime](), Counter[datetime]()
    since = now - timedelta(days=FORECAST_DAYS)
    for recorded in events:
        event = recorded.event
        day = event.at.replace(hour=0, minute=0, second=0, microsecond=0)
        if event.at < since:
            continue
        if isinstance(event, SearchAdmitted):
            searches[day] += 1
        elif isinstance(event, SearchSettled):
            charges[day] += event.charged
    return {day: (searches[day], charges[day]) for day in sorted({*searches, *charges})}


def _actions(key_id: str, key: Key) -> Sequence[Action]:
    if key.revoked:
        return ()
    at, limits = f"/console/keys/{key_id}", {"minute": key.per_minute, "day": key.per_day}
    most = [
        Input(f"per_{time}", f"Searches a {time}", str(each), required=True)
        for time, each in limits.items()
    ]
    old = Input("overlap", "The old secret stays valid", options=[*OVERLAPS])
    return (
        Action(
            "Grant quota", f"{at}/grant", inputs=[Input("units", "Searches", required=True)]
        ),
        Action("Limit", f"{at}/limit", inputs=most),
        Action("Rotate", f"{at}/rotate", inputs=[old]),
        Action("Revoke", f"{at}/revoke"),
    )


def _movement(recorded: RecordedEvent) -> Mapping[str, object]:
    event = recorded.event
    search: str | None = getattr(event, "search", None)
    return {
        "position": event_link(recorded.position),
        "at": event.at,
        "what": topic_of(event).split(".")[1].replace("-", " "),
        "units": getattr(event, "units", None),
        "search": search and search_link(search),
        "outcome": getattr(event, "outcome", None),
        "charged": getattr(event, "charged", None),
    }


def _whole(form: Form, name: str) -> int:
    said = form.get(name, "").strip()
    try:
        return int(said)
    except ValueError:
        raise HTTPException(400, f"{name}: {said[:20]!r} is no whole number") from None


def _limits(key: Key) -> str:
    return f"{key.per_minute} searches a minute, {key.per_day} a day"


def _window(window: RateWindow) -> str:
    return f"{window.remaining} of {window.limit} left"


def acts_in(events: Sequence[RecordedEvent]) -> Sequence[Mapping[str, object]]:
    """Return what operators did in *events*, the newest first, in this order."""
    acts = [act for each in events if (act := act_of(each.stream, each.event))]
    return [{"at": a.at, "what": a.what.replace("_", " "), "by": a.by} for a in acts[:ROWS]]
