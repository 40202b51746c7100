"""`cs config` and `cs sandbox`: what is in force, and files that are wrong."""

import sys
from pathlib import Path

import pytest

from cli.command import Here
from cs.settings import Settings


@pytest.mark.parametrize("command", [["config", "show"], ["config", "check"], ["serve"]])
def test_bad_settings_end_every_command_alike(
    here: Here, command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text('port = "abc"')

    message = here(*command, f"--config={file}").error(2)

    assert message == f"settings file {file}: port: a whole number from 0 to 65535, not 'abc'"


def test_a_check_says_what_is_used_and_what_is_missing(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = here("config", "check", "--json").rows[0]
    assert used["verifiers"] == ["smtp"]
    (message,) = used["advice"]
    assert message.startswith(
        "people_sources: no source can be asked; searxng: set searxng_url"
    )

    monkeypatch.setenv("CS_SEARXNG_URL", "http://127.0.0.1:8888")
    monkeypatch.setenv("CS_BRAND_SOURCES", "directory")
    used = here("config", "check", "--json").rows[0]
    assert (used["advice"], used["brand_sources"]) == ([], ["directory"])

    monkeypatch.setenv("CS_BRAND_SOURCES", "website")
    (message,) = here("config", "check", "--json").rows[0]["advice"]
    assert "without a domain" in message


def test_the_directory_may_have_a_place_in_the_order_before_it_has_people(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_SEARXNG_URL", "http://127.0.0.1:8888")
    monkeypatch.setenv("CS_PEOPLE_SOURCE_ORDER", "directory,searxng")

    used = here("config", "check", "--json").rows[0]

    assert used["people_sources"] == ["directory", "searxng"]


@pytest.mark.parametrize("command", [["config", "check"], ["serve"]])
def test_a_check_fails_where_the_service_would_not_start(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    data = f"--data-dir={tmp_path}"
    monkeypatch.setitem(sys.modules, "cs.assembly.otel_traces", None)
    monkeypatch.setenv("CS_TRACES_TO", "http://127.0.0.1:4318")
    assert "pip install 'contact-search[otel]'" in here(*command, data).error(2)

    monkeypatch.delenv("CS_TRACES_TO")
    (tmp_path / "log.db").touch()
    assert "is missing next to the other data" in here(*command, data).error(1)


MANY = {
    "CS_POSTGRES": "postgresql://cs@db.internal/cs",
    "CS_KEYS_POSTGRES": "postgresql://cs@keys.internal/keys",
    "CS_STAGES_POSTGRES": "postgresql://cs@db.internal/stages",
    "CS_KAFKA": "kafka-1:9092,kafka-2:9092",
    "CS_KAFKA_TLS": "true",
    "PGSSLMODE": "verify-full",
}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ca_file: Path) -> Path:
    """Settings of a service over several processes, in the environment; the master key."""
    master = tmp_path / "master.key"
    master.write_bytes(bytes(32))
    master.chmod(0o600)
    monkeypatch.setenv("PGSSLROOTCERT", str(ca_file))
    for name, value in MANY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CS_MASTER_KEY_FILE", str(master))
    return master


@pytest.mark.parametrize(
    ("dropped", "roles"),
    [
        ([], ["api", "project", "relay", "process-manager", "stage"]),
        (["CS_KAFKA", "CS_KAFKA_TLS"], ["api", "project"]),
        (["CS_POSTGRES", "CS_KEYS_POSTGRES", "CS_MASTER_KEY_FILE"], ["stage"]),
        ([*MANY, "CS_MASTER_KEY_FILE"], ["serve"]),
    ],
)
@pytest.mark.usefixtures("many")
def test_a_check_says_which_commands_the_settings_are_for(
    here: Here, monkeypatch: pytest.MonkeyPatch, dropped: list[str], roles: list[str]
) -> None:
    for name in dropped:
        monkeypatch.delenv(name)

    assert here("config", "check", "--json").rows[0]["roles"] == roles


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CS_POSTGRES", "", "postgres: this role needs it; set CS_POSTGRES"),
        ("CS_KEYS_POSTGRES", "", "keys_postgres: this role needs it; set CS_KEYS_POSTGRES"),
        (
            "CS_KEYS_POSTGRES",
            "postgres://keys:secret@DB.internal:5432/cs",
            "keys_postgres: a database of its own, not that of postgres",
        ),
        (
            "CS_STAGES_POSTGRES",
            "postgresql://cs@keys.internal/keys",
            "stages_postgres: a database of its own, not that of keys_postgres",
        ),
        ("CS_MASTER_KEY_FILE", "", "master_key_file: this role needs it; make one with:"),
        ("CS_MASTER_KEY_FILE", "/nowhere", "master_key_file: /nowhere cannot be read"),
        ("CS_STAGES_KEY_FILE", "/nowhere", "stages_key_file: /nowhere cannot be read"),
        ("PGSSLMODE", "require", "postgres: db.internal is on another machine"),
    ],
)
@pytest.mark.usefixtures("many")
def test_settings_of_many_machines_that_do_not_go_together_are_reported(
    here: Here, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)

    assert here("config", "check").error(2).startswith(message)


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, many: Path) -> Path:
    """The file of a SCRAM user's password, in the environment."""
    assert many.exists()
    file = tmp_path / "kafka-password"
    file.write_text("s3cret\n")
    file.chmod(0o600)
    monkeypatch.setenv("CS_KAFKA_SASL", "SCRAM-SHA-512")
    monkeypatch.setenv("CS_KAFKA_USERNAME", "cs-relay")
    monkeypatch.setenv("CS_KAFKA_PASSWORD_FILE", str(file))
    return file


def test_kafkas_password_comes_from_a_file_and_only_its_path_is_shown(
    here: Here, password: Path
) -> None:
    assert here("config", "check").code == 0
    shown = here("config", "show")
    assert f"{password}  # environment variable CS_KAFKA_PASSWORD_FILE" in shown.out
    assert "s3cret" not in shown.out


def test_a_file_of_a_password_that_is_wrong_is_reported(
    here: Here, monkeypatch: pytest.MonkeyPatch, password: Path
) -> None:
    def error() -> str:
        return here("config", "check").error(2)

    for written in (b"", b"\n", b"two\nlines", b"\xff", b"x" * 1_025):
        password.write_bytes(written)
        assert error().startswith(f"kafka_password_file: {password}: one line of UTF-8 text")
    password.chmod(0o644)
    assert "can be read by everybody on this machine (mode 0644); run: chmod 600" in error()
    password.unlink()
    assert (
        error() == f"kafka_password_file: {password} cannot be read: No such file or directory"
    )
    monkeypatch.setenv("CS_KAFKA_PASSWORD", "s3cret")
    assert error() == "kafka_password_file: kafka_password is set too; take one of the two away"
    for name in ("CS_KAFKA", "CS_KAFKA_TLS"):
        monkeypatch.delenv(name)
    assert "needs kafka; set CS_KAFKA=host:port" in error()


@pytest.mark.usefixtures("many")
def test_what_should_be_apart_or_is_missing_is_advised(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advised() -> str:
        return " ".join(here("config", "check", "--json").rows[0]["advice"])

    assert "keys_postgres" not in advised()
    monkeypatch.setenv("CS_KEYS_POSTGRES", "postgresql://keys@db.internal/keys")
    assert "keys_postgres is on the server of postgres" in advised()
    for name in ("CS_KAFKA", "CS_KAFKA_TLS"):
        monkeypatch.delenv(name)
    assert "kafka is not set: a relay or process manager cannot run" in advised()
    for name in ("CS_POSTGRES", "CS_KEYS_POSTGRES"):
        monkeypatch.delenv(name)
    assert "a stage must not have it" in advised()


@pytest.mark.parametrize("command", ["backup", "restore"])
@pytest.mark.usefixtures("many")
def test_backup_of_a_folder_is_refused_where_data_is_in_databases(
    here: Here, command: str, tmp_path: Path
) -> None:
    message = here(command, str(tmp_path / "copy"), f"--data-dir={tmp_path / 'data'}").error(2)

    assert message.startswith("postgres is set: backup and restore are for a data folder")
    assert "pg_dump" in message
    assert not (tmp_path / "copy").exists()


def test_every_value_says_where_it_came_from(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text(
        'port = 9000\nlog_level = "error"\n[sources.searxng]\nurl = "http://a.test"\n'
    )
    monkeypatch.setenv("CS_LOG_LEVEL", "debug")
    monkeypatch.setenv("CS_KAFKA_PASSWORD", "s3cret")

    message = here("config", "show", f"--config={file}", "--data-dir=/srv/cs")
    as_json = here("config", "show", "--json", f"--config={file}").rows[0]

    lines = dict(line.split(maxsplit=1) for line in message.out.splitlines())
    assert lines["port"] == f"9000  # settings file {file}"
    assert lines["log_level"] == "debug  # environment variable CS_LOG_LEVEL"
    assert lines["data_dir"] == "/srv/cs  # option --data-dir"
    assert lines["admin_port"] == "8081  # default"
    assert lines["kafka_password"] == "********  # environment variable CS_KAFKA_PASSWORD"
    assert lines["sources.searxng.url"] == f"http://a.test  # settings file {file}"
    assert "s3cret" not in message.out
    places = as_json.pop("places")
    assert {*Settings.__struct_fields__} - as_json.keys() == {"plugins"}
    assert as_json["port"] == 9000
    assert places == {
        "port": f"settings file {file}",
        "log_level": "environment variable CS_LOG_LEVEL",
        "kafka_password": "environment variable CS_KAFKA_PASSWORD",
        "sources.searxng.url": f"settings file {file}",
    }


def test_a_verifier_in_use_without_its_key_is_advised(here: Here) -> None:
    checked = here("config", "check", "--json", CS_VERIFIERS="smtp,hunter").rows[0]

    (message,) = (each for each in checked["advice"] if each.startswith("verifiers.hunter"))
    assert message.endswith("it is not set up; set verifiers.hunter.key")
