"""``cs db``: the schemas of the databases that a service over several machines uses."""

from collections.abc import AsyncIterator
from typing import Annotated

import asyncpg
from cyclopts import App, Parameter

from cs.cli.command import Invocation, Output, on_settings
from cs.cli.output import stop
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import check_address, connected, open_pool
from cs.postgres.schema import Store, migrate, missing

app = App(
    name="db",
    help="The PostgreSQL databases of a service that runs on several machines.\n\n"
    "A service in one process keeps its data in a folder and needs none of this.",
)


@app.command(name="migrate")
@on_settings
async def migrate_(
    at: Invocation,
    *,
    service: Annotated[str | None, Parameter(help="Address of the service's database.")] = None,
    keys: Annotated[str | None, Parameter(help="Address of the key store's database.")] = None,
    stages: Annotated[str | None, Parameter(help="Address of the stages' database.")] = None,
    check: Annotated[
        bool, Parameter(negative="", help="Change nothing; exit code 1 if a step is missing.")
    ] = False,
) -> AsyncIterator[Output]:
    """Update the schema of each database that is named, and show the steps applied.

    Without --service, --keys and --stages: those of the settings postgres, keys_postgres
    and stages_postgres. Several may run at once: the others wait, then find nothing to do.
    A version of the service that still runs goes on: steps only add.

    Example: `cs db migrate --service postgresql://cs@db.internal/cs`
    """
    chosen = at.settings()
    given: dict[Store, str | None] = {"service": service, "keys": keys, "stages": stages}
    if not any(given.values()):
        given = {
            "service": chosen.postgres,
            "keys": chosen.keys_postgres,
            "stages": chosen.stages_postgres,
        }
    named = {store: dsn for store, dsn in given.items() if dsn is not None}
    if not named:
        stop(
            "name a database: --service, --keys or --stages,"
            " or set CS_POSTGRES, CS_KEYS_POSTGRES or CS_STAGES_POSTGRES",
            2,
        )
    for store, dsn in named.items():  # before anything is changed
        try:
            check_address(dsn, insecure=chosen.insecure_postgres)
        except ValueError as error:
            stop(f"--{store}: {error}", 2)
    for store, dsn in named.items():
        yield await _one(store, dsn, check=check, insecure=chosen.insecure_postgres)


async def _one(store: Store, dsn: str, *, check: bool, insecure: bool) -> Output:
    """Migrate one database, or with *check* return code 1 if a step is missing."""
    try:
        async with (
            open_pool(dsn, role="db", insecure=insecure) as pool,
            connected(pool) as connection,
        ):
            found = await (missing if check else migrate)(connection, store)
    except (DatabaseUnavailable, WrongSchema) as error:
        stop(f"{store}: {error}")
    except asyncpg.PostgresError as error:
        stop(f"{store}: PostgreSQL refused a step, which was undone: {error}")
    steps = [{"number": step.number, "name": step.name} for step in found]
    said = ", ".join(f"{step.number} {step.name}" for step in found)
    row = {"store": store, "applied": None, "missing": steps}
    text = f"lacks {said}" if said else "nothing is missing"
    if not check:
        row = {"store": store, "applied": steps, "missing": None}
        text = f"applied {said}" if said else "nothing to do"
    return Output([row], [f"{store}: {text}"], code=bool(check and steps))
