"""No command shows a password or key of the settings, however it was written there."""

from pathlib import Path

import pytest

from cli.command import Ran, ran

SECRET = "hunter"  # and "two" or "er2" behind what cuts it into two
#: Settings with a secret, and what else of each has to be shown.
ADDRESSES = [
    ("CS_POSTGRES", "postgresql://cs:hunter:two@db.internal/cs", "db.internal/cs"),
    ("CS_POSTGRES", "postgresql://cs:hunt/er2@db.internal/cs", "db.internal/cs"),
    ("CS_POSTGRES", "postgresql://cs:1/hunter2@db.internal/cs", "db.internal/cs"),
    ("CS_KEYS_POSTGRES", "postgresql://db.internal/k?pass%77ord=hunter", "db.internal/k"),
    ("CS_SEARXNG_URL", "http://cs:hunter@searx.internal:8888", "searx.internal:8888"),
    ("CS_TRACES_TO", "http://traces.internal:4318?api_key=hunter", "traces.internal:4318"),
    ("CS_VERIFIERS__REACHER__URL", "http://reacher.internal/?token=hunter", "reacher.int"),
]
#: What no setting takes: the error shows it.
REFUSED = [
    ("CS_POSTGRES", "host=db.internal password='hunter two'", "db.internal"),
    ("CS_POSTGRES", "pg://cs:hunter@db.internal/cs", "db.internal/cs"),
    ("CS_KAFKA", "kafka-1:9092,sasl://cs:hunter@kafka-2:9092", "kafka-1:9092"),
    ("CS_DNS", "cs:hunter@192.0.2.1:53", "192.0.2.1:53"),
    ("CS_SOURCES__SERPER__URL", "ftp://cs:hunter@serper.internal", "serper.internal"),
]


def shows_no_secret(done: Ran) -> None:
    printed = done.out + done.err
    for part in (SECRET, "two@", "er2", "hunt"):
        assert part not in printed, printed


@pytest.mark.parametrize(("variable", "value", "rest"), ADDRESSES)
def test_the_settings_in_force_are_shown_without_secrets(
    variable: str, value: str, rest: str
) -> None:
    for done in (
        ran("config", "show", **{variable: value}),
        ran("config", "show", "--json", **{variable: value}),
    ):
        assert done.code == 0, done
        assert rest in done.out
        shows_no_secret(done)


@pytest.mark.parametrize(("variable", "value", "rest"), REFUSED)
def test_a_value_that_is_refused_is_shown_without_secrets(
    variable: str, value: str, rest: str
) -> None:
    done = ran("config", "show", **{variable: value})

    assert rest in done.error(2)
    shows_no_secret(done)


CUT_WRONGLY = [value for name, value, _ in ADDRESSES if name == "CS_POSTGRES"]
COMMANDS = ["config check", "keys list"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("address", CUT_WRONGLY)
def test_an_address_that_is_cut_wrongly_names_no_part_of_its_password(
    command: str, address: str, tmp_path: Path
) -> None:
    key = tmp_path / "master.key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)

    done = ran(
        *command.split(),
        CS_POSTGRES=address,
        CS_KEYS_POSTGRES="postgresql://keys@127.0.0.1:1/keys",
        CS_MASTER_KEY_FILE=str(key),
        CS_WIKIDATA_URL="http://hunter@127.0.0.1:1/",
        CS_SEARXNG_URL="http://cs:hunter@127.0.0.1:1",
        CS_DNS="127.0.0.1:1",
    )

    assert done.code, done
    shows_no_secret(done)


@pytest.mark.parametrize("address", ["postgresql://cs:hunter@db.internal/cs", "x?token=hunter"])
@pytest.mark.parametrize("words", ["db migrate {}", "db migrate --servce={}", "status {}"])
def test_a_word_too_many_is_repeated_without_its_secret(words: str, address: str) -> None:
    done = ran(*words.format(address).split())

    done.error(2)
    shows_no_secret(done)
