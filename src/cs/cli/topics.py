"""``cs topics``: the topics on Kafka, made and shown."""

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from cs.assembly.kafka_settings import kafka_settings
from cs.bus.access import access_of_roles, kafka_acls
from cs.bus.errors import BadKafkaSettings, BusUnavailable, CannotApply
from cs.bus.kafka.access import grant
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.topics import TopicResult, TopicState, apply, describe
from cs.bus.topics import PARTITIONS, TOPICS
from cs.cli.options import Config, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.settings_in_force import settings
from cs.cli.topics_described import describe_topics
from cs.settings import Settings

app = App(
    name="topics",
    help="Make the topics that the service needs on Kafka, show and describe them.\n\n"
    "Brokers make none by themselves here: a mistyped name would be a topic of its own.",
)
app.command(describe_topics, name="describe")

Bootstrap = Annotated[
    str | None,
    Parameter(help="host:port of some brokers, separated by commas; else the setting kafka."),
]
Prefix = Annotated[
    str | None, Parameter(help="Stands before every topic, `staging.`; else kafka_prefix.")
]


@app.command(name="apply")
def apply_topics(
    *,
    bootstrap: Bootstrap = None,
    replication: Annotated[int, Parameter(help="Replicas of each; 3 in production.")] = 1,
    partitions: Annotated[int, Parameter(help="The most members of a group.")] = PARTITIONS,
    prefix: Prefix = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Make what is missing and bring the rest up to date; safe to repeat.

    Brokers, prefix, TLS and SASL are those of the settings kafka... unless given here.

    Adds partitions if there are fewer (keys move to others: do it while little is under
    way) and sets retention and the other settings. Never deletes or shrinks anything.

    Example: `cs topics apply --bootstrap kafka-1:9092 --replication 3`
    """
    if not 1 <= replication <= 10:
        stop(f"--replication: a whole number from 1 to 10, not {replication}", 2)
    if not 1 <= partitions <= 1_000:
        stop(f"--partitions: a whole number from 1 to 1000, not {partitions}", 2)
    on = _kafka(config, bootstrap, prefix)

    async def run() -> list[TopicResult]:
        return await apply(on, TOPICS, partitions=partitions, replication=replication)

    try:
        applied = asyncio.run(run())
    except (CannotApply, BusUnavailable, BadKafkaSettings) as error:
        stop(str(error))
    for each in applied:
        if json:
            print_json(msgspec.to_builtins(each))
        else:
            console.print(f"{each.topic}: {'; '.join(each.done) or 'as it should be'}")
            for left in each.left:
                console.print(f"  left alone: {left}")


@app.command(name="show")
def show_topics(
    *,
    bootstrap: Bootstrap = None,
    prefix: Prefix = None,
    json: Json = False,
    config: Config = None,
) -> None:
    """Show the topics that are there, with partitions, replicas and settings.

    Example: `cs topics show --bootstrap kafka-1:9092 --json`, one line a topic.
    """
    on = _kafka(config, bootstrap, prefix)

    async def run() -> list[TopicState]:
        return await describe(on, TOPICS)

    try:
        states = asyncio.run(run())
    except (CannotApply, BusUnavailable, BadKafkaSettings) as error:
        stop(str(error))
    missing = {on.on_broker(plan.name) for plan in TOPICS} - {each.name for each in states}
    if json:
        for each in states:
            print_json(msgspec.to_builtins(each))
    else:
        columns = ("Topic", "Partitions", "Replicas", "Settings")
        print_table(columns, [_cells(each) for each in states], folds=["Settings"])
    if missing:
        stop(f"missing: {', '.join(sorted(missing))}; `cs topics apply` makes them")


@app.command(name="acls")
def show_acls(
    *,
    bootstrap: Bootstrap = None,
    prefix: Prefix = None,
    user: Annotated[str, Parameter(help="Begins the names of users.")] = "cs-",
    apply: Annotated[bool, Parameter(negative="", help="Give it to them.")] = False,
    json: Json = False,
    config: Config = None,
) -> None:
    """Print what the user of each role needs on brokers that check it, and no more.

    As commands of Kafka's own tool; with --json one line for each topic or group of a user.
    Users are named cs-relay, cs-process-manager, cs-stage-ranking and so on, cs-topics for
    `cs topics apply`, cs-feed-reader for who reads the feed. Connects to nothing, but with
    --apply: then it gives them these rights, as the user of the settings kafka... that may.
    Safe to repeat; takes none away.

    Example: `cs topics acls --bootstrap kafka-1:9094 | sh`, or `cs topics acls --apply`
    """
    chosen = _chosen(config, bootstrap, prefix)
    at = ",".join(chosen.kafka) or "localhost:9092"
    users = {user + role: each for role, each in access_of_roles(chosen.kafka_prefix).items()}
    if apply:
        on = _kafka(config, bootstrap, prefix)
        try:
            asyncio.run(grant(on, users))
        except (CannotApply, BusUnavailable, BadKafkaSettings) as error:
            stop(str(error))
    for name, accesses in users.items():
        for access in accesses:
            if json:
                print_json({"user": name, **msgspec.to_builtins(access)})
            elif not apply:
                console.print(kafka_acls(name, access, at))
        if apply and not json:
            console.print(f"{name}: may use {len(accesses)} topics and groups")


def _kafka(config: Path | None, bootstrap: str | None, prefix: str | None) -> KafkaSettings:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters is told at the end
    chosen = _chosen(config, bootstrap, prefix)
    if not chosen.kafka:
        stop("name brokers: --bootstrap kafka-1:9092, or set CS_KAFKA", 2)
    return kafka_settings(chosen)


def _chosen(config: Path | None, bootstrap: str | None, prefix: str | None) -> Settings:
    chosen = settings(config)
    if bootstrap is not None:
        servers = tuple(server.strip() for server in bootstrap.split(","))
        chosen = msgspec.structs.replace(chosen, kafka=servers)
    if prefix is not None:
        chosen = msgspec.structs.replace(chosen, kafka_prefix=prefix)
    return chosen


def _cells(state: TopicState) -> tuple[str, ...]:
    configs = ", ".join(f"{key}={value}" for key, value in sorted(state.configs.items()))
    return (state.name, str(state.partitions), str(state.replication), configs)
