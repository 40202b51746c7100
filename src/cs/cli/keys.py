"""``cs keys``: API keys, on the data folder, beside a running service or without one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, styled
from cs.cli.settings_in_force import settings
from cs.domain.operator_actions import OperatorAct
from cs.operations.operator import DEFAULT_QUOTA, NewSecret, Operator
from cs.projections.reading import Reading
from cs.projections.searches import instant
from cs.projections.usage import UsageRow
from cs.settings import Settings

app = App(
    name="keys",
    help="Create, list, rotate and revoke API keys, and give them quota.\n\n"
    "Works on the data folder or the databases, beside a running service or without one; "
    "a running one sees the change within a second.",
)

#: Searches one command may give or take away.
MOST = 1_000_000_000

KeyId = Annotated[str, Parameter(help="Id of the key, key_...; see `cs keys list`.")]


class Desk(msgspec.Struct, frozen=True):
    """What the operator's commands work with on one data folder."""

    operator: Operator
    reading: Reading


@asynccontextmanager
async def desk(chosen: Settings, *, new: bool = False) -> AsyncIterator[Desk]:
    """Open the data of *chosen*, its views brought up to date."""
    async with open_command_context(chosen, new=new) as data:
        runner = data.view_runner()
        await runner.catch_up()
        reading = Reading(data.log, data.views, runner, data.keys)
        yield Desk(Operator(data.streams, data.clock, data.by), reading)


@app.command
def create(
    *,
    label: Annotated[str, Parameter(help="For you: whose key it is.")] = "",
    quota: Annotated[int, Parameter(help="Searches it may be charged for.")] = DEFAULT_QUOTA,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Create a key and show its secret, this once: only a hash of it is kept.

    Makes the data folder if there is none yet, so it works before the first `cs serve`.

    Example: `cs keys create --label "Sales, Berlin" --quota 500`
    """
    if len(label) > 200:
        stop("--label: at most 200 characters", 2)
    if not 0 <= quota <= MOST:
        stop(f"--quota: a whole number from 0 to {MOST}, not {quota}", 2)

    async def run() -> NewSecret:
        async with desk(settings(config, data_dir=data_dir), new=True) as at:
            return await at.operator.create_key(label, quota)

    new = asyncio.run(run())
    if json:
        print_json({"id": new.id, "key": new.key, "label": label, "quota": quota})
    else:
        console.print(f"{new.id}  {label}  quota {quota}")
        _show_secret(new)


@app.command(name="list")
def list_keys(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """List every key with its quota and use; never a secret.

    Example: `cs keys list --json`, one line a key.
    """

    async def run() -> list[tuple[str, UsageRow]]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.reading.keys()

    rows = sorted(asyncio.run(run()), key=lambda entry: entry[1].issued_at)
    if json:
        for key_id, row in rows:
            print_json(_shown(key_id, row))
        return
    columns = ("Id", "Label", "Ends in", "Used", "Running", "Issued")
    print_table(columns, [_cells(key_id, row) for key_id, row in rows], folds=["Label"])


@app.command
def show(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Show one key: quota, used, searches running, and who changed it last.

    Example: `cs keys show key_ma7677g7zxmrnqf8`
    """

    async def run() -> UsageRow | None:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.reading.usage(key_id)

    row = asyncio.run(run())
    if row is None:
        stop(f"no key with the id {key_id!r}; `cs keys list` shows them all")
    if json:
        print_json(_shown(key_id, row))
    else:
        shown = _shown(key_id, row)
        acts = shown.pop("history")
        for name, value in shown.items():
            console.print(f"{name:<10}{value}")
        for act in acts:
            console.print(f"{instant(act.at)}  {said(act)}  by {act.by or '?'}")


@app.command
def rotate(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Give a key a new secret; the old one stops working, quota and history stay.

    Example: `cs keys rotate key_ma7677g7zxmrnqf8`
    """

    async def run() -> NewSecret:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.rotate_key(key_id)

    new = asyncio.run(run())
    if json:
        print_json({"id": new.id, "key": new.key})
    else:
        console.print(new.id)
        _show_secret(new)


@app.command
def revoke(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Revoke a key for good. Its running searches still end and are settled.

    Example: `cs keys revoke key_ma7677g7zxmrnqf8`
    """

    async def run() -> bool:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.revoke_key(key_id)

    changed = asyncio.run(run())
    if json:
        print_json({"id": key_id, "revoked": True, "changed": changed})
    else:
        console.print(f"{key_id} {'is revoked' if changed else 'was revoked before'}")


@app.command
def grant(
    key_id: KeyId,
    units: Annotated[int, Parameter(help="Searches to add; a negative number takes away.")],
    /,
    *,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Add to a key's quota, or take away from it; it counts at once.

    Example: `cs keys grant key_ma7677g7zxmrnqf8 100`
    """
    if not -MOST <= units <= MOST:
        stop(f"UNITS: a whole number from -{MOST} to {MOST}, not {units}", 2)

    async def run() -> tuple[int, int]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            key = await at.operator.grant_quota(key_id, units)
            return key.quota, key.used

    quota, used = asyncio.run(run())
    if json:
        print_json({"id": key_id, "quota": quota, "used": used, "remaining": quota - used})
    else:
        console.print(f"{key_id} may now make {quota} searches, {used} are used")


def said(act: OperatorAct) -> str:
    """Return what was done, in words: ``quota granted: 50``."""
    words = act.what.replace("_", " ")
    if act.why is not None:
        return f"{words} ({act.command}): {act.why}"
    return words if act.units is None else f"{words}: {act.units}"


def _show_secret(new: NewSecret) -> None:
    console.print(styled("[bold]{}[/]\n[dim]Keep it now: it is not shown again.[/]", new.key))


def _shown(key_id: str, row: UsageRow) -> dict[str, Any]:
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
        "revoked": row.revoked,
        "history": row.acts,
    }


def _cells(key_id: str, row: UsageRow) -> tuple[str, ...]:
    used = "revoked" if row.revoked else f"{row.used} of {row.quota}"
    day = instant(row.issued_at)[:10]
    return (key_id, row.label, row.last4, used, str(row.reserved), day)
