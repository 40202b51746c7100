"""`cs db migrate`: says what it did, or what is missing."""

from urllib.parse import urlsplit

import pytest

from cli.command import Here

KEYS = "1 keys, 2 secrets, 3 master_keys, 4 named_wraps, 5 index_people, 6 recovery"


@pytest.mark.parametrize("store", ["service", "keys", "stages"])
def test_a_new_database_is_given_every_step_and_then_none(
    here: Here, database: str, store: str
) -> None:
    (row,) = here("db", "migrate", f"--{store}={database}", "--json").rows
    (again,) = here("db", "migrate", f"--{store}={database}", "--json").rows

    numbers = [step["number"] for step in row["applied"]]
    assert numbers == [*range(1, len(numbers) + 1)]
    assert numbers
    assert (again["store"], again["applied"]) == (store, [])


def test_check_changes_nothing_and_its_exit_code_says_whether_steps_are_missing(
    here: Here, database: str
) -> None:
    def check() -> tuple[int, str]:
        done = here("db", "migrate", "--check", f"--keys={database}")
        return done.code, done.out

    assert check() == (1, f"keys: lacks {KEYS}\n")
    assert check() == (1, f"keys: lacks {KEYS}\n")
    assert here("db", "migrate", f"--keys={database}").out == f"keys: applied {KEYS}\n"
    assert check() == (0, "keys: nothing is missing\n")


def test_a_missing_database_address_is_reported(here: Here) -> None:
    assert "--service" in here("db", "migrate").error(2)


def test_databases_of_the_settings_are_brought_up_and_options_go_before(
    here: Here, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setenv("CS_KEYS_POSTGRES", database)
    monkeypatch.setenv("CS_STAGES_POSTGRES", database)

    assert (
        here("db", "migrate", f"--stages={database}").out
        == "stages: applied 1 stages, 2 paid_services, 3 directory, 4 processes\n"
    )
    assert here("db", "migrate").out == f"keys: applied {KEYS}\nstages: nothing to do\n"


def test_what_is_no_address_is_reported(here: Here) -> None:
    message = here("db", "migrate", "--service=localhost").error(2)

    assert message == "--service: a PostgreSQL address begins with postgresql://"


def test_a_database_that_is_away_is_reported_without_its_password(
    here: Here, postgres: str
) -> None:
    parts = urlsplit(postgres)
    where = f"cs:geheim@127.0.0.1:{parts.port}"
    dsn = parts._replace(netloc=where, path="/never_made").geturl()

    message = here("db", "migrate", f"--service={dsn}").error()

    assert "never_made" in message
    assert "geheim" not in message
