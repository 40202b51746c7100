"""``cs keys``: API keys, on the data folder, next to a running service or without one."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from cs.cli.choosing import query_of
from cs.cli.command import DryRun, Invocation, Output, number, on_data
from cs.cli.output import Table, facts, stop, styled
from cs.domain.brand.brand import brand_stream
from cs.domain.operator_actions import OperatorAct
from cs.domain.rate_limits import PER_DAY, PER_MINUTE
from cs.history.brands import unknown_brand, words_of
from cs.operations.operator import DEFAULT_QUOTA, NewSecret
from cs.projections.brands import BrandRow
from cs.projections.searches import instant
from cs.projections.usage import UsageRow

keys = App(
    name="keys",
    help="Create, list, rotate and revoke API keys, and give them quota.\n\n"
    "Works on the data folder or the databases, next to a running service or without one; "
    "a running service sees the change within a second.",
)

#: Searches that one command may add or take away.
MOST = 1_000_000_000

PerMinute = Annotated[int, number(1, PER_MINUTE, "Searches that it may make in a minute.")]
PerDay = Annotated[int, number(1, PER_DAY, "Searches that it may make in 24 hours.")]
KeyId = Annotated[str, Parameter(help="Id of the key, key_...; see `cs keys list`.")]


@keys.command
@on_data
async def create(
    at: Invocation,
    *,
    label: Annotated[str, Parameter(help="Whose key it is, for you.")] = "",
    quota: Annotated[
        int, number(0, MOST, "Searches that it may be charged for.")
    ] = DEFAULT_QUOTA,
    per_minute: PerMinute = PER_MINUTE,
    per_day: PerDay = PER_DAY,
) -> Output:
    """Create a key and show its secret, this once: only a hash of it is kept.

    Makes the data folder if there is none yet, so it works before the first `cs serve`.

    Example: `cs keys create --label "Sales, Berlin" --quota 500`
    """
    if len(label) > 200:
        stop("--label: at most 200 characters", 2)
    new = await (await at.data(new=True)).operator.create_key(label, quota, per_minute, per_day)
    row = {"id": new.id, "key": new.key, "label": label, "quota": quota}
    return Output([row], [f"{new.id}  {label}  quota {quota}", _secret(new)])


@keys.command(name="list")
@on_data
async def list_keys(at: Invocation) -> Output:
    """List every key with its quota and use, never a secret.

    Example: `cs keys list --json`, one line a key.
    """
    data = await at.data()
    found = sorted(await (await data.reading()).keys(), key=lambda entry: entry[1].issued_at)
    shown = [_key(key_id, row, data.clock.now()) for key_id, row in found]
    fields = "id label last4 quota used running revoked"
    if any(each["old_secret_until"] for each in shown):
        fields += " old_secret_until"
    return Output(shown, [Table.of(shown, fields, "label")])


@keys.command
@on_data
async def show(at: Invocation, key_id: KeyId, /) -> Output:
    """Show one key: its quota, use and running searches, and every change by an operator.

    Example: `cs keys show key_ma7677g7zxmrnqf8`
    """
    data = await at.data()
    row = await (await data.reading()).usage(key_id)
    if row is None:
        stop(f"no key with the id {key_id!r}; `cs keys list` shows them all")
    key = (await data.streams.key(key_id)).state
    limits = {"per_minute": key.per_minute, "per_day": key.per_day}
    shown = limits | _key(key_id, row, data.clock.now())
    known = {name: value for name, value in shown.items() if name != "history"}
    acts = [f"{instant(act.at)}  {act_words(act)}  by {act.by or '?'}" for act in row.acts]
    return Output([shown], [*facts(known), *acts])


@keys.command
@on_data
async def limit(
    at: Invocation,
    key_id: KeyId,
    /,
    *,
    per_minute: PerMinute | None = None,
    per_day: PerDay | None = None,
) -> Output:
    """Let a key make fewer searches a minute or a day than others; it counts at once.

    A limit that is not named stays as it is.

    Example: `cs keys limit key_ma7677g7zxmrnqf8 --per-minute 2 --per-day 20`
    """
    if per_minute is None and per_day is None:
        stop("name --per-minute, --per-day or both", 2)
    key = await (await at.data()).operator.limit_key(key_id, per_minute, per_day)
    row = {"id": key_id, "per_minute": key.per_minute, "per_day": key.per_day}
    words = f"{key_id} may make {key.per_minute} searches a minute, {key.per_day} a day"
    return Output([row], [words])


@keys.command
@on_data
async def rotate(
    at: Invocation,
    key_id: KeyId,
    /,
    *,
    overlap: Annotated[
        timedelta | None,
        Parameter(
            help="How long the old secret works on, such as 1h or 2d, at most 7d; ends at "
            "once unless given. Never for a secret that has leaked."
        ),
    ] = None,
) -> Output:
    """Give a key a new secret; the old one ends at once, quota and history stay.

    With --overlap it ends when that time is over; until then both count on the same quota and
    limits. A second rotation ends the overlap of the first.

    Example: `cs keys rotate key_ma7677g7zxmrnqf8`
    """
    new = await (await at.data()).operator.rotate_key(key_id, overlap or timedelta())
    shown = None if new.old_until is None else instant(new.old_until)
    return Output(
        [{"id": new.id, "key": new.key, "old_until": shown}],
        [
            f"{new.id}  the old secret {f'works until {shown}' if shown else 'has ended'}",
            _secret(new),
        ],
    )


@keys.command
@on_data
async def revoke(at: Invocation, key_id: KeyId, /) -> Output:
    """Revoke a key for good. Its running searches still end and are settled.

    Example: `cs keys revoke key_ma7677g7zxmrnqf8`
    """
    changed = await (await at.data()).operator.revoke_key(key_id)
    return Output(
        [{"id": key_id, "revoked": True, "changed": changed}],
        [f"{key_id} {'is revoked' if changed else 'was revoked before'}"],
    )


@keys.command
@on_data
async def grant(
    at: Invocation,
    key_id: KeyId,
    units: Annotated[
        int, number(-MOST, MOST, "Searches to add; a negative number takes away.")
    ],
    /,
) -> Output:
    """Add to a key's quota, or take away from it; it counts at once.

    Example: `cs keys grant key_ma7677g7zxmrnqf8 100`
    """
    key = await (await at.data()).operator.grant_quota(key_id, units)
    row = {"id": key_id, "quota": key.quota, "used": key.used}
    return Output(
        [row | {"remaining": key.quota - key.used}],
        [f"{key_id} may now make {key.quota} searches, {key.used} are used"],
    )


def act_words(act: OperatorAct) -> str:
    """Return the act in words: ``quota granted: 50``."""
    words = act.what.replace("_", " ")
    if act.why is not None:
        return f"{words} ({act.command}): {act.why}"
    if act.old_until is not None:
        return f"{words}, the old secret works until {instant(act.old_until)}"
    if act.per_minute is not None:
        return f"{words}: {act.per_minute} a minute, {act.per_day} a day"
    about = act.letter if act.units is None else act.units
    return words if about is None else f"{words}: {about}"


def _secret(new: NewSecret) -> Text:
    return styled("[bold]{}[/]\n[dim]Keep it now: it is not shown again.[/]", new.key)


def _key(key_id: str, row: UsageRow, now: datetime) -> dict[str, Any]:
    until = None if row.revoked or row.old_until is None else row.old_until
    return {
        "id": key_id,
        "label": row.label,
        "last4": row.last4,
        "quota": row.quota,
        "used": row.used,
        "remaining": row.quota - row.used,
        "running": row.reserved,
        "searches": row.searches,
        "issued_at": instant(row.issued_at),
        "old_secret_until": instant(until) if until is not None and now < until else None,
        "revoked": row.revoked,
        "history": row.acts,
    }


brands = App(
    name="brands", help="Import brands; see which are answered from reuse, and forget one."
)
brands.command("cs.cli.imports:import_brands", name="import")


@brands.command(name="list")
@on_data
async def list_brands(at: Invocation) -> Output:
    """List every brand searched, how its last lookup ended and until when it is reused.

    Example: `cs brands list --json`, one line a brand.
    """
    reading = await (await at.data()).reading()
    shown = [_brand(row) for _, row in await reading.brands()]
    fields = "brand domain running outcome verified reused_until"
    return Output(shown, [Table.of(shown, fields, "brand domain")])


@brands.command
@on_data
async def forget(
    at: Invocation,
    brand: Annotated[str | None, Parameter(help="The brand as it was searched.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The domain it was searched with.")] = None,
    dry_run: DryRun = False,
) -> Output:
    """Make the next search for a brand a live one. Cannot be undone.

    With --dry-run it says what would be forgotten. A brand that was never searched is an
    error.

    Example: `cs brands forget Veltrana`, or `cs brands forget --domain veltrana.test` if
    that is how it was searched.
    """
    query = query_of(brand, domain)
    if query is None:
        stop("name a brand, a --domain, or both, as the search did", 2)
    data = await at.data()
    rows = dict(await (await data.reading()).brands())
    row = rows.get(brand_stream(query))
    if row is None:
        stop(unknown_brand(query, [words_of(each.query) for each in rows.values()]))
    answer = {"brand": query.brand, "domain": query.domain, "forgotten": False}
    if dry_run:
        until = (
            f"{row.verified} verified, reused until {instant(row.reused_until)}"
            if row.reused_until
            else "nothing that is reused"
        )
        return Output(
            [answer | {"dry_run": True, "found": _brand(row)}],
            [f"nothing is changed; it would forget: {row.outcome or '-'}, {until}"],
        )
    answer["forgotten"] = changed = await data.operator.forget_brand(query)
    return Output([answer], ["forgotten" if changed else "there was nothing to forget"])


def _brand(row: BrandRow) -> dict[str, Any]:
    return {
        "brand": row.query.brand,
        "domain": row.query.domain,
        "running": row.live is not None,
        "outcome": row.outcome,
        "verified": row.verified,
        "reused_until": instant(row.reused_until) if row.reused_until else None,
    }


@on_data
async def pause(at: Invocation) -> Output:
    """Refuse new searches with 503 `api_disabled`; reading and running searches go on.

    Works next to a running service, which sees it within a second.

    Example: `cs pause --data-dir /var/lib/cs`
    """
    return _switched("paused", changed=await (await at.data()).operator.pause())


@on_data
async def resume(at: Invocation) -> Output:
    """Accept new searches again, after `cs pause`.

    Example: `cs resume --data-dir /var/lib/cs`
    """
    return _switched("resumed", changed=await (await at.data()).operator.resume())


def _switched(state: str, *, changed: bool) -> Output:
    said = f"the API is {state}" if changed else f"the API was {state} before"
    return Output([{"api": state, "changed": changed}], [said])
