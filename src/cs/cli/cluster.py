"""``cs topics`` and ``cs db``: the topics and databases of several machines."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

import asyncpg
import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace

from cs.assembly.shared_settings import DATABASES, kafka_settings
from cs.bus.kafka.access import access_of_roles, grant, kafka_acls
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.topics import apply, describe
from cs.bus.topics import OUTCOMES, PARTITIONS, TOPICS, read_document
from cs.cli.command import Invocation, Output, number, on_settings, printing
from cs.cli.output import Table, stop
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import check_address, connected, open_pool
from cs.postgres.schema import Store, migrate, missing
from cs.runtime.durations import in_words
from cs.settings import Settings

topics = App(
    name="topics",
    help="Create the topics that the service needs on Kafka, show and describe them.\n\n"
    "Brokers create none by themselves here: a mistyped name would be a topic of its own.",
)


@Parameter(name="*")
@dataclass(frozen=True)
class Brokers:
    """The options that name brokers; TLS and SASL are those of the settings kafka..."""

    bootstrap: Annotated[
        str | None,
        Parameter(help="host:port of some brokers, separated by commas; else kafka's."),
    ] = None
    prefix: Annotated[
        str | None, Parameter(help="Stands before every topic, `staging.`; else kafka_prefix.")
    ] = None

    def settings(self, at: Invocation) -> Settings:
        chosen = at.settings()
        if self.bootstrap is not None:
            servers = tuple(server.strip() for server in self.bootstrap.split(","))
            chosen = replace(chosen, kafka=servers)
        return chosen if self.prefix is None else replace(chosen, kafka_prefix=self.prefix)


CONFIGURED = Brokers()


@topics.command(name="apply")
@on_settings
async def apply_topics(
    at: Invocation,
    *,
    brokers: Brokers = CONFIGURED,
    replication: Annotated[int, number(1, 10, "Replicas of each; 3 in production.")] = 1,
    partitions: Annotated[
        int, number(1, 1_000, "The most members of a consumer group.")
    ] = PARTITIONS,
) -> AsyncIterator[Output]:
    """Create missing topics and update the others; safe to repeat.

    Brokers, prefix, TLS and SASL are those of the settings kafka... unless given here.

    Adds partitions if there are fewer (keys move to others: do it while little is under
    way) and sets retention and the other settings. Never deletes or shrinks anything.

    Example: `cs topics apply --bootstrap kafka-1:9092 --replication 3`
    """
    on = _kafka(brokers.settings(at))
    for each in await apply(on, TOPICS, partitions=partitions, replication=replication):
        left_alone = [f"  left alone: {left}" for left in each.left]
        done = f"{each.topic}: {'; '.join(each.done) or 'as it should be'}"
        yield Output([each], [done, *left_alone])


@topics.command(name="show")
@on_settings
async def show_topics(at: Invocation, *, brokers: Brokers = CONFIGURED) -> Output:
    """Show the topics that exist, with partitions, replicas and settings.

    Example: `cs topics show --bootstrap kafka-1:9092 --json`, one line a topic.
    """
    on = _kafka(brokers.settings(at))
    states = await describe(on, TOPICS)
    missing = {on.on_broker(plan.name) for plan in TOPICS} - {each.name for each in states}
    problem = f"missing: {', '.join(sorted(missing))}; `cs topics apply` makes them"
    table = Table.of(states, "name partitions replication configs", "configs")
    return Output(states, [table], problem=problem if missing else None)


@topics.command(name="acls")
@on_settings
async def show_acls(
    at: Invocation,
    *,
    brokers: Brokers = CONFIGURED,
    apply: Annotated[bool, Parameter(help="Give them these rights.")] = False,
) -> Output:
    """Print the rights that the user of each role needs on brokers that check them.

    As commands of Kafka's own tool; with --json one line for each topic or group of a user.
    Users are named cs-relay, cs-process-manager, cs-stage-ranking and so on, cs-topics for
    `cs topics apply`, cs-feed-reader for readers of the feed. With --apply it connects, as
    the user of the settings kafka..., and grants these rights; else it connects to nothing.
    Safe to repeat; revokes none.

    Example: `cs topics acls --bootstrap kafka-1:9094 | sh`, or `cs topics acls --apply`
    """
    chosen = brokers.settings(at)
    users = {f"cs-{role}": each for role, each in access_of_roles(chosen.kafka_prefix).items()}
    rows = [
        {"user": name, **msgspec.to_builtins(access)}
        for name, accesses in users.items()
        for access in accesses
    ]
    if apply:
        await grant(_kafka(chosen), users)
        return Output(
            rows, [f"{name}: may use {len(of)} topics and groups" for name, of in users.items()]
        )
    servers = ",".join(chosen.kafka) or "localhost:9092"
    return Output(
        rows,
        [kafka_acls(name, each, servers) for name, every in users.items() for each in every],
    )


@topics.command(name="describe")
@printing
def describe_topics(_: Invocation) -> Output:
    """Describe the messages on the topics, for other teams and stages in other languages.

    With `--json` as an AsyncAPI 3.0 document: shapes, headers, keys, examples.

    Example: `cs topics describe --json > topics.json`
    """
    document = msgspec.json.decode(read_document())
    carried = {each["address"]: each["description"] for each in document["channels"].values()}
    rows = [
        (
            plan.name,
            "to the service" if plan.name == OUTCOMES else "from the service",
            in_words(plan.retention.total_seconds()),
            # The document describes the service's own topics.
            carried.get(
                plan.name, "Work for an extra stage that is installed here; the lookup."
            ),
        )
        for plan in TOPICS
    ]
    columns = ("Topic", "Direction", "Retention", "Message, and its key")
    return Output([document], [Table(columns, rows, [columns[-1]])])


def _kafka(chosen: Settings) -> KafkaSettings:
    # Its log repeats the error that the command ends with.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    if not chosen.kafka:
        stop("name brokers: --bootstrap kafka-1:9092, or set CS_KAFKA", 2)
    return kafka_settings(chosen)


db = App(
    name="db",
    help="The PostgreSQL databases of a service that runs on several machines.\n\n"
    "A service in one process keeps its data in a folder and needs none of this.",
)


@db.command(name="migrate")
@on_settings
async def migrate_(
    at: Invocation,
    *,
    service: Annotated[str | None, Parameter(help="Address of the service's database.")] = None,
    keys: Annotated[str | None, Parameter(help="Address of the key store's database.")] = None,
    stages: Annotated[str | None, Parameter(help="Address of the stages' database.")] = None,
    check: Annotated[
        bool, Parameter(help="Change nothing; exit code 1 if a step is missing.")
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
        given = {store: getattr(chosen, setting) for setting, store in DATABASES.items()}
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
