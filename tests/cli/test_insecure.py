"""Databases and brokers elsewhere that need not prove who they are, as commands meet them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import Here
from postgres.password_asker import PasswordAsker, asking_for_passwords

#: Not loopback by our rule, and this machine to Linux: so the fake server is "elsewhere".
ELSEWHERE = "0.0.0.0"
NOBODY = "postgresql://cs@127.0.0.1:1"
COMMANDS = [
    (["api", "--port=0", "--admin-port=0"], "postgres"),
    (["process-manager", "--admin-port=0"], "keys_postgres"),
    (["stage", "ranking", "--admin-port=0"], "stages_postgres"),
    (["keys", "list"], "keys_postgres"),
    (["db", "migrate", "--check"], "keys_postgres"),
]


@pytest.fixture
def asker() -> Iterator[PasswordAsker]:
    with asking_for_passwords() as running:
        yield running


@pytest.fixture
def settings(
    asker: PasswordAsker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, str]:
    """Settings of every role with databases that are not there; the address of the asker."""
    key = tmp_path / "a.key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    for store in ("postgres", "keys_postgres", "stages_postgres"):
        monkeypatch.setenv(f"CS_{store.upper()}", f"{NOBODY}/{store}")
    for name in ("MASTER", "STAGES"):
        monkeypatch.setenv(f"CS_{name}_KEY_FILE", str(key))
    monkeypatch.setenv("CS_KAFKA", "127.0.0.1:1")
    asked = f"postgresql://cs:very-secret@{ELSEWHERE}:{asker.port}/x"
    return {"clear": asked}


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_remote_server_without_a_verified_certificate_gets_no_password(
    here: Here,
    asker: PasswordAsker,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[list[str], str],
) -> None:
    words, setting = command
    monkeypatch.setenv(f"CS_{setting.upper()}", settings["clear"])

    ran = here(*words)

    assert (asker.visitors, asker.passwords) == (0, [])
    assert "sslmode=verify-full" in ran.error(2)
    assert "insecure_postgres" in ran.err
    assert "very-secret" not in ran.err


def test_the_setting_that_allows_it_lets_it_happen_and_is_reported_by_the_check(
    here: Here,
    asker: PasswordAsker,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CS_POSTGRES", settings["clear"])
    monkeypatch.setenv("CS_INSECURE_POSTGRES", "true")

    (checked,) = here("config", "check", "--json").rows
    assert asker.visitors == 0, "a check connects to nothing"
    here("keys", "list")

    assert f"postgres: {ELSEWHERE} need not prove who it is" in " ".join(checked["advice"])
    assert set(asker.passwords) == {b"very-secret"}


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize(
    "words", [["config", "check"], ["topics", "show"], ["topics", "apply"]]
)
def test_brokers_elsewhere_are_reached_by_tls_or_by_a_setting(
    here: Here, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("CS_KAFKA", "127.0.0.1:1,kafka.invalid:9092")

    message = here(*words).error(2)

    assert message.startswith("kafka: kafka.invalid:9092 is on another machine"), message
    assert "kafka_tls = true, or insecure_kafka = true" in message


@pytest.mark.usefixtures("settings")
def test_the_check_keeps_telling_of_brokers_that_are_reached_in_clear(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_KAFKA", "kafka.invalid:9092")
    monkeypatch.setenv("CS_INSECURE_KAFKA", "true")

    (checked,) = here("config", "check", "--json").rows

    assert "kafka: kafka.invalid:9092 need not prove" in " ".join(checked["advice"])


def test_a_console_without_tls_is_reported_by_the_check_of_settings(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advised() -> str:
        (checked,) = here("config", "check", "--json").rows
        return " ".join(checked["advice"])

    assert "insecure_console" not in advised()
    monkeypatch.setenv("CS_INSECURE_CONSOLE", "true")
    assert "insecure_console: tokens and pages of the console go over the network" in advised()
