"""``cs keys``: API keys, on the data folder, beside a running service or without one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.cli.options import Config, DataDir, Json, settings
from cs.cli.output import console, print_json, print_table, stop
from cs.clock import SystemClock
from cs.data_folder import DataFolder
from cs.eventlog.streams import Streams
from cs.operator import DEFAULT_QUOTA, NewSecret, Operator
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.searches import instant
from cs.projections.usage import UsageRow
from cs.settings import Settings
from cs.wiring import opened

app = App(
    name="keys",
    help="Create, list, rotate and revoke API keys, and give them quota.\n\n"
    "Works on the data folder, beside a running service or without one; "
    "a running one sees the change within a second.",
)

KeyId = Annotated[str, Parameter(help="Id of the key, key_...; see `cs keys list`.")]


class Desk(msgspec.Struct, frozen=True):
    """What the operator's commands work with on one data folder."""

    operator: Operator
    reading: Reading


@asynccontextmanager
async def desk(chosen: Settings) -> AsyncIterator[Desk]:
    """Open the data folder of *chosen*, its views brought up to date."""
    async with opened(DataFolder(chosen.data_dir)) as data:
        runner = ViewRunner(data.log, data.views, data.keys)
        await runner.catch_up()
        reading = Reading(data.log, data.views, runner, data.keys)
        yield Desk(Operator(Streams(data.log), SystemClock()), reading)


@app.command
def create(
    *,
    label: Annotated[str, Parameter(help="For you: whose key it is.")] = "",
    quota: Annotated[int, Parameter(help="Searches it may be charged for.")] = DEFAULT_QUOTA,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Create a key and show its secret, this once: only a hash of it is kept."""
    if len(label) > 200:
        stop("a label has at most 200 characters")

    async def run() -> NewSecret:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.create_key(label, quota)

    new = asyncio.run(run())
    if json:
        print_json({"id": new.id, "key": new.key, "label": label, "quota": quota})
    else:
        console.print(f"{new.id}  {label}  quota {quota}\n[bold]{new.key}[/]")
        console.print("[dim]Keep it now: it is not shown again.[/]")


@app.command(name="list")
def list_keys(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """List every key with its quota and use; never a secret."""

    async def run() -> list[tuple[str, UsageRow]]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.reading.keys()

    rows = sorted(asyncio.run(run()), key=lambda entry: entry[1].issued_at)
    if json:
        for key_id, row in rows:
            print_json(_shown(key_id, row))
        return
    columns = ("Id", "Label", "Ends in", "Quota", "Used", "Running", "Issued", "")
    print_table(columns, [_cells(key_id, row) for key_id, row in rows])


@app.command
def show(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Show one key: quota, used, searches running."""

    async def run() -> UsageRow | None:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.reading.usage(key_id)

    row = asyncio.run(run())
    if row is None:
        stop(f"no key with the id {key_id!r}; `cs keys list` shows them all")
    if json:
        print_json(_shown(key_id, row))
    else:
        for name, value in _shown(key_id, row).items():
            console.print(f"{name:<10}{value}")


@app.command
def rotate(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Give a key a new secret; the old one stops working, quota and history stay."""

    async def run() -> NewSecret:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.rotate_key(key_id)

    new = asyncio.run(run())
    if json:
        print_json({"id": new.id, "key": new.key})
    else:
        console.print(f"{new.id}\n[bold]{new.key}[/]")
        console.print("[dim]Keep it now: it is not shown again.[/]")


@app.command
def revoke(
    key_id: KeyId, /, *, json: Json = False, data_dir: DataDir = None, config: Config = None
) -> None:
    """Revoke a key for good. Its running searches still end and are settled."""

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
    """Add to a key's quota; it counts at once."""

    async def run() -> tuple[int, int]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            key = await at.operator.grant_quota(key_id, units)
            return key.quota, key.used

    quota, used = asyncio.run(run())
    if json:
        print_json({"id": key_id, "quota": quota, "used": used, "remaining": quota - used})
    else:
        console.print(f"{key_id} may now make {quota} searches, {used} are used")


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
    }


def _cells(key_id: str, row: UsageRow) -> list[str]:
    numbers = [str(number) for number in (row.quota, row.used, row.reserved)]
    state = "revoked" if row.revoked else ""
    return [key_id, row.label, row.last4, *numbers, instant(row.issued_at), state]
