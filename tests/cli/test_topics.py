"""`cs topics`: what is reported of a real broker, and of one that is not there."""

import json
from importlib.resources import files

import pytest

from cli.command import Here
from harness.servers.ports import free_ports

DOCUMENT = json.loads(files("cs.bus").joinpath("asyncapi.json").read_bytes())
TOPICS = [channel["address"] for channel in DOCUMENT["channels"].values()]


@pytest.mark.slow
def test_what_these_brokers_cannot_do_is_reported(
    kafka: str, topic_prefix: str, here: Here
) -> None:
    where = (f"--bootstrap={kafka}", f"--prefix={topic_prefix}")

    missing = here("topics", "show", *where)
    message = here("topics", "apply", "--replication=9", *where)
    rights = here("topics", "acls", "--apply", *where)

    assert missing.code == 1
    assert "`cs topics apply` makes them" in missing.err
    assert "9 replicas need as many brokers" in message.error()
    assert rights.error() == "these brokers check no rights: set authorizer.class.name there"
    assert message.out == rights.out == ""


def test_brokers_and_how_they_are_reached_are_those_of_the_settings(here: Here) -> None:
    first, second = free_ports(2)
    kafka = f"127.0.0.1:{first}"

    shown = here("topics", "show", CS_KAFKA=kafka).error()
    other = here("topics", "apply", f"--bootstrap=127.0.0.1:{second}", CS_KAFKA=kafka).error()
    sasl = here("topics", "show", CS_KAFKA=kafka, CS_KAFKA_SASL="PLAIN").error(2)

    assert shown.startswith(f"Kafka at {kafka} does not answer")
    assert other.startswith(f"Kafka at 127.0.0.1:{second} does not answer")
    assert sasl.startswith("kafka: sasl_mechanism PLAIN needs username")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["apply", "--bootstrap=nowhere"], "bootstrap_servers: host:port"),
        (["apply", "--bootstrap=a:1", "--prefix=a b"], "prefix: at most 100 letters"),
        (["apply"], "--bootstrap"),
        (["acls", "--apply"], "--bootstrap"),
    ],
)
def test_what_cannot_be_is_reported(words: list[str], message: str, here: Here) -> None:
    assert message in here("topics", *words).error(2)


def test_topics_are_described_for_people_and_programs(here: Here) -> None:
    table = here("topics", "describe")

    assert all(name in table.out for name in TOPICS)
    assert "7 d" in table.out
    assert here("topics", "describe", "--json").rows == [DOCUMENT]


def test_what_each_user_needs_is_printed_for_kafkas_own_tool(here: Here) -> None:
    where = ("--bootstrap=kafka-1:9094", "--prefix=team.")

    commands = here("topics", "acls", *where).out.splitlines()
    rows = here("topics", "acls", "--json", *where).rows

    assert (
        "kafka-acls --bootstrap-server kafka-1:9094 --add "
        "--allow-principal User:cs-stage-verification "
        "--operation Read --topic team.cs.verification.v1"
    ) in commands
    assert len(commands) == len(rows)
    written = {row["name"] for row in rows if "Write" in row["operations"]}
    assert written == {f"team.{name}" for name in TOPICS}
    assert {
        row["name"]
        for row in rows
        if row["user"] == "cs-stage-ranking" and "Write" in row["operations"]
    } == {"team.cs.outcomes.v1", "team.cs.dead-letters.v1"}
