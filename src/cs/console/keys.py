"""API keys: all of them, and one with its ledger, its windows now and when it runs out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import (
    ROWS,
    Action,
    Input,
    Parts,
    View,
    event_link,
    key_link,
    not_found,
    position_of,
    same,
    search_link,
)
from cs.domain.key import Key, SearchAdmitted, SearchSettled, day_window, minute_window
from cs.domain.operator_actions import OperatorAct
from cs.domain.rate_limits import RateWindow
from cs.eventlog.port import RecordedEvent
from cs.history.ledger import ledger
from cs.history.pages import Page, Section, facts, table
from cs.projections.usage import UsageRow
from cs.runtime.durations import in_words

#: Days of use that a forecast is made from.
FORECAST_DAYS = 30
#: Units that one grant may add or take away.
MOST = 1_000_000_000


async def list_keys(parts: Parts, request: Request, session: Session) -> View:
    """Show every key with its quota and use; never a secret."""
    del session
    found = sorted(await parts.reading.keys(), key=lambda each: each[1].issued_at, reverse=True)
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
            "revoked": row.revoked,
        }
        for key_id, row in found[first : first + ROWS]
    ]
    fields = "key label last4 quota used remaining running revoked"
    about = "" if rows else "There is none yet: `cs keys create` makes one."
    older = same(request, **{"from": first + ROWS}) if len(found) > first + ROWS else None
    return View(
        page=Page(title="Keys", sections=[table("Keys", rows, fields, about=about)]),
        command="cs keys list",
        older=older,
    )


async def show_key(parts: Parts, request: Request, session: Session) -> View:
    """Show one key: what is left, how long that lasts, and every movement of units."""
    del session
    key_id = request.path_params["key"]
    row = await parts.reading.usage(key_id)
    if row is None:
        raise not_found(f"there is no key {key_id}", "the list of keys has all")
    key: Key = (await parts.streams.key(key_id)).state
    events = [each async for each in parts.history.stream(f"key-{key_id}")]
    entries = [*ledger(events)]
    before = position_of(request)
    shown = [e for e in reversed(entries) if before is None or e.position < before]
    rows = [
        {
            "position": event_link(entry.position),
            "at": entry.at,
            "what": entry.what,
            "units": entry.units,
            "search": entry.search and search_link(entry.search),
            "brand": entry.brand,
            "outcome": entry.outcome,
            "remaining": entry.remaining,
        }
        for entry in shown[:ROWS]
    ]
    days = _by_day(events, parts.clock.now())
    return View(
        page=Page(
            title=row.label or key_id,
            lead=f"{key_id}, ends in {row.last4}" + (", revoked" if row.revoked else ""),
            sections=[
                _figures(row, key, days, parts.clock.now()),
                table("Ledger", rows, "position at what units search brand outcome remaining"),
                table("What operators did", [_act(act) for act in row.acts], "at what by"),
            ],
        ),
        command=f"cs ledger {key_id}",
        actions=_actions(key_id, row),
        older=same(request, before=shown[ROWS - 1].position) if len(shown) > ROWS else None,
        plots={
            "Searches and charges by day": (
                ["searches", "charged"],
                [
                    [day.timestamp() for day in days],
                    [searches for searches, _ in days.values()],
                    [charged for _, charged in days.values()],
                ],
            )
        },
    )


async def grant(
    parts: Parts, request: Request, session: Session, form: Mapping[str, str]
) -> str:
    """Add to the quota of a key, or take away."""
    units = form.get("units", "").strip()
    try:
        number = int(units)
    except ValueError:
        raise HTTPException(400, f"units: {units[:20]!r} is no whole number") from None
    if not 0 < abs(number) <= MOST:
        raise HTTPException(400, f"units: from -{MOST} to {MOST}, and not 0")
    key = await parts.operator(session).grant_quota(request.path_params["key"], number)
    return f"The quota is {key.quota} now. To undo it, grant {-number}."


async def rotate(
    parts: Parts, request: Request, session: Session, form: Mapping[str, str]
) -> str:
    """Give a key a new secret."""
    del form
    new = await parts.operator(session).rotate_key(request.path_params["key"])
    return f"The new secret, shown this once: {new.key}"


async def revoke(
    parts: Parts, request: Request, session: Session, form: Mapping[str, str]
) -> str:
    """Revoke a key for good."""
    del form
    changed = await parts.operator(session).revoke_key(request.path_params["key"])
    return "The key is revoked." if changed else "The key was revoked before."


def _figures(
    row: UsageRow, key: Key, days: Mapping[datetime, tuple[int, int]], now: datetime
) -> Section:
    remaining = row.quota - row.used
    charged = sum(charged for _, charged in days.values())
    begun = min(days, default=now)
    length = max((now - begun) / timedelta(days=1), 1.0)
    a_day = charged / length
    lasts = in_words(remaining / a_day * 86_400) if a_day else "not used lately"
    return Section(
        heading="Quota",
        facts=facts(
            {
                "quota": row.quota,
                "used": row.used,
                "remaining": remaining,
                "running": row.reserved,
                "searches": row.searches,
                "charged a day": f"{a_day:.1f}",
                "runs out in": lasts if remaining > 0 else "it has run out",
                "this minute": _window(minute_window(key, now)),
                "this day": _window(day_window(key, now)),
            }
        ),
    )


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


def _actions(key_id: str, row: UsageRow) -> Sequence[Action]:
    if row.revoked:
        return ()
    at = f"/console/keys/{key_id}"
    return (
        Action(
            name="Grant quota",
            to=f"{at}/grant",
            asks="Adds searches, or takes away with a negative number. The opposite undoes it.",
            inputs=[Input(name="units", label="Searches", required=True)],
        ),
        Action(
            name="Rotate",
            to=f"{at}/rotate",
            asks="The old secret ends at once and the new one is shown once. Cannot be undone.",
        ),
        Action(
            name="Revoke",
            to=f"{at}/revoke",
            asks="The key ends for good; running searches are settled. Cannot be undone.",
        ),
    )


def _window(window: RateWindow) -> str:
    return f"{window.remaining} of {window.limit} left"


def _act(act: OperatorAct) -> Mapping[str, object]:
    return {"at": act.at, "what": act.what.replace("_", " "), "by": act.by}
