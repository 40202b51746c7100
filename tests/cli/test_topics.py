"""`cs topics`: what is told of a real broker, and of one that is not there."""

import json
from pathlib import Path

import pytest

from cli.command import Here
from cs.bus import access
from cs.bus.asyncapi.document import read_document
from cs.bus.topics import TOPICS
from cs.pipeline.outcomes import GROUP
from harness.servers.ports import free_ports


@pytest.mark.slow
def test_topics_are_made_once_and_shown(kafka: str, topic_prefix: str, here: Here) -> None:
    where = (f"--bootstrap={kafka}", f"--prefix={topic_prefix}")

    missing = here("topics", "show", *where)
    made = here("topics", "apply", "--partitions=2", *where)
    again = here("topics", "apply", "--partitions=2", *where)
    shown = here("topics", "show", "--json", *where)

    names = sorted(topic_prefix + plan.name for plan in TOPICS)
    assert missing.code == 1
    assert "`cs topics apply` makes them" in missing.err
    assert made.out.count("created, 2 partitions, 1 replica") == len(names)
    assert again.out.count("as it should be") == len(names)
    assert [row["name"] for row in shown.rows] == names
    assert {row["partitions"] for row in shown.rows} == {2}
    assert (made.code, again.code, shown.code) == (0, 0, 0)


@pytest.mark.slow
def test_more_replicas_than_brokers_are_told(kafka: str, topic_prefix: str, here: Here) -> None:
    where = (f"--bootstrap={kafka}", f"--prefix={topic_prefix}")

    told = here("topics", "apply", "--replication=9", *where)

    assert (told.code, told.out) == (1, "")
    assert "9 replicas need as many brokers" in told.err


@pytest.mark.parametrize("command", ["apply", "show"])
def test_a_broker_that_is_not_there_is_told_in_a_sentence(command: str, here: Here) -> None:
    (port,) = free_ports(1)

    ran = here("topics", command, f"--bootstrap=127.0.0.1:{port}")

    assert ran.told().startswith(f"Kafka at 127.0.0.1:{port} does not answer")


def test_brokers_and_how_they_are_reached_are_those_of_the_settings(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = free_ports(2)
    monkeypatch.setenv("CS_KAFKA", f"127.0.0.1:{first}")

    assert f"Kafka at 127.0.0.1:{first} does not answer" in here("topics", "show").told()
    other = here("topics", "show", f"--bootstrap=127.0.0.1:{second}").told()
    assert f"Kafka at 127.0.0.1:{second} does not answer" in other
    monkeypatch.setenv("CS_KAFKA_SASL", "PLAIN")
    assert (
        here("topics", "show").told(2).startswith("kafka: sasl_mechanism PLAIN needs username")
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bootstrap=nowhere"], "bootstrap_servers: host:port"),
        (["--bootstrap=a:1", "--prefix=a b"], "prefix: at most 100 letters"),
        (["--bootstrap=a:1", "--replication=0"], "--replication: a whole number from 1 to 10"),
        (["--bootstrap=a:1", "--partitions=0"], "--partitions: a whole number from 1 to 1000"),
        ([], "--bootstrap"),
    ],
)
def test_what_cannot_be_is_told(words: list[str], told: str, here: Here) -> None:
    ran = here("topics", "apply", *words)

    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_every_topic_is_described_in_a_line(here: Here) -> None:
    ran = here("topics", "describe")

    assert ran.code == 0
    assert all(plan.name in ran.out for plan in TOPICS)
    assert "7 days" in ran.out


def test_the_description_for_programs_is_the_committed_document(here: Here) -> None:
    ran = here("topics", "describe", "--json")

    assert ran.rows == [json.loads(read_document())]


@pytest.mark.slow
def test_what_breaks_who_holds_an_older_description_is_named(
    here: Here, tmp_path: Path
) -> None:
    old = json.loads(read_document())
    same, other, junk = tmp_path / "same", tmp_path / "other", tmp_path / "junk"
    same.write_text(json.dumps(old))
    old["components"]["schemas"]["Failed"]["properties"]["code"] = {"type": "string"}
    other.write_text(json.dumps(old))
    junk.write_text("[]")

    quiet = here("topics", "describe", f"--since={same}")
    told = here("topics", "describe", f"--since={other}")
    rows = here("topics", "describe", f"--since={other}", "--json")

    assert (quiet.code, quiet.out) == (0, "")
    assert (told.code, told.out) == (1, "outcome.finding[failed].code: the field is gone\n")
    assert rows.rows == [{"where": "outcome.finding[failed].code", "what": "the field is gone"}]
    assert "is no document of" in here("topics", "describe", f"--since={junk}").told(2)
    missing = here("topics", "describe", f"--since={tmp_path / 'none'}")
    assert "No such file" in missing.told(2)


def test_what_each_user_needs_is_printed_for_kafkas_own_tool(here: Here) -> None:
    where = ("--bootstrap=kafka-1:9094", "--prefix=team.", "--user=svc-")

    commands = here("topics", "acls", *where).out.splitlines()
    rows = here("topics", "acls", "--json", *where).rows

    assert (
        "kafka-acls --bootstrap-server kafka-1:9094 --add "
        "--allow-principal User:svc-stage-verification "
        "--operation Read --topic team.cs.verification.v1"
    ) in commands
    assert len(commands) == len(rows)
    written = {row["name"] for row in rows if "Write" in row["operations"]}
    assert written == {f"team.{plan.name}" for plan in TOPICS}
    assert {
        row["name"]
        for row in rows
        if row["user"] == "svc-stage-ranking" and "Write" in row["operations"]
    } == {"team.cs.outcomes.v1", "team.cs.dead-letters.v1"}


@pytest.mark.slow
def test_rights_on_brokers_that_check_nobody_are_told(
    kafka: str, topic_prefix: str, here: Here
) -> None:
    ran = here("topics", "acls", "--apply", f"--bootstrap={kafka}", f"--prefix={topic_prefix}")

    assert ran.told() == "these brokers check nobody: set authorizer.class.name there"
    assert ran.out == ""


def test_rights_are_given_to_some_broker(here: Here) -> None:
    assert "--bootstrap" in here("topics", "acls", "--apply").told(2)


def test_the_group_of_the_process_manager_is_the_one_that_it_joins() -> None:
    assert access.PROCESS_MANAGER == GROUP
