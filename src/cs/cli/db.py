"""``cs db``: the schemas of the databases that a service over several machines uses."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, NoReturn

import asyncpg
import msgspec
from cyclopts import App, Parameter

from cs.cli.options import Config, Json
from cs.cli.output import console, print_json, stop
from cs.cli.settings_in_force import settings
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import check_address, connected, open_pool
from cs.postgres.schema import migrate, missing
from cs.postgres.schema_steps import Migration, Store
from cs.settings import Settings

app = App(
    name="db",
    help="The PostgreSQL databases of a service that runs on several machines.\n\n"
    "A service in one process keeps its data in a folder and needs none of this.",
)

Dsn = Annotated[str | None, Parameter(negative="")]


class Step(msgspec.Struct, frozen=True):
    """One step of a schema."""

    number: int
    name: str


class MigratedStore(msgspec.Struct, frozen=True):
    """One database: the steps it was given, or with ``--check`` those it lacks."""

    store: Store
    applied: Sequence[Step] | None = None
    missing: Sequence[Step] | None = None


@app.command(name="migrate")
def migrate_(
    *,
    service: Annotated[Dsn, Parameter(help="Address of the service's database.")] = None,
    keys: Annotated[Dsn, Parameter(help="Address of the key store's database.")] = None,
    stages: Annotated[Dsn, Parameter(help="Address of the stages' database.")] = None,
    check: Annotated[
        bool, Parameter(negative="", help="Change nothing; exit code 1 if a step is missing.")
    ] = False,
    json: Json = False,
    config: Config = None,
) -> None:
    """Bring each database that is named up to this version, and say what was done.

    Without --service, --keys and --stages: those of the settings postgres, keys_postgres
    and stages_postgres. Several may run at once: the others wait, then find nothing to do.
    A version of the service that still runs goes on: steps only add.

    Example: `cs db migrate --service postgresql://cs@db.internal/cs`
    """
    chosen = settings(config)
    given = _named(service, keys, stages) or _of(chosen)
    if not given:
        stop(
            "name a database: --service, --keys or --stages,"
            " or set CS_POSTGRES, CS_KEYS_POSTGRES or CS_STAGES_POSTGRES",
            2,
        )
    insecure = chosen.insecure_postgres
    for store, dsn in given.items():  # before anything is changed
        _check(store, dsn, insecure=insecure)
    behind = False
    for store, dsn in given.items():
        done = asyncio.run(_one(store, dsn, check=check, insecure=insecure))
        behind = behind or bool(done.missing)
        if json:
            print_json(done)
        else:
            console.print(_describe(done))
    if behind:
        raise SystemExit(1)


def _of(chosen: Settings) -> Mapping[Store, str]:
    return _named(chosen.postgres, chosen.keys_postgres, chosen.stages_postgres)


def _named(service: str | None, keys: str | None, stages: str | None) -> Mapping[Store, str]:
    every: Mapping[Store, str | None] = {"service": service, "keys": keys, "stages": stages}
    return {store: dsn for store, dsn in every.items() if dsn is not None}


def _check(store: Store, dsn: str, *, insecure: bool) -> None:
    try:
        check_address(dsn, insecure=insecure)
    except ValueError as error:
        stop(f"--{store}: {error}", 2)


async def _one(store: Store, dsn: str, *, check: bool, insecure: bool) -> MigratedStore:
    try:
        async with (
            open_pool(dsn, role="db", insecure=insecure) as pool,
            connected(pool) as connection,
        ):
            if check:
                return MigratedStore(store, missing=_steps(await missing(connection, store)))
            return MigratedStore(store, applied=_steps(await migrate(connection, store)))
    except (DatabaseUnavailable, WrongSchema) as error:
        stop(f"{store}: {error}")
    except asyncpg.PostgresError as error:
        _stop_at(store, error)


def _stop_at(store: Store, error: asyncpg.PostgresError) -> NoReturn:
    stop(f"{store}: PostgreSQL refused a step, which was undone: {error}")


def _steps(steps: Sequence[Migration]) -> Sequence[Step]:
    return [Step(step.number, step.name) for step in steps]


def _describe(done: MigratedStore) -> str:
    steps = ", ".join(
        f"{step.number} {step.name}" for step in done.missing or done.applied or ()
    )
    if done.missing is not None:
        return f"{done.store}: lacks {steps}" if steps else f"{done.store}: nothing is missing"
    return f"{done.store}: applied {steps}" if steps else f"{done.store}: nothing to do"
