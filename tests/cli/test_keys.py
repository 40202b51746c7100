"""`cs keys`, `cs pause`, `cs brands` on a data folder without a service."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.command import Here, Ran, environment


def test_a_new_key_is_shown_once_in_a_stable_shape(tmp_path: Path, here: Here) -> None:
    made = here("keys", "create", "--json", "--label=me", f"--data-dir={tmp_path}")

    row = made.rows[0]
    assert list(row) == ["id", "key", "label", "quota"]
    assert row["key"].startswith("cs_live_")
    assert (row["label"], row["quota"]) == ("me", 100)
    told_later = [
        here("keys", "list", f"--data-dir={tmp_path}").out,
        here("keys", "list", "--json", f"--data-dir={tmp_path}").out,
        here("keys", "show", row["id"], f"--data-dir={tmp_path}").out,
    ]
    assert all(row["id"] in message for message in told_later)
    assert not any(row["key"] in message for message in told_later)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert row["key"].encode() not in stored


def test_a_life_of_a_key(folder: Path, here: Here) -> None:
    def keys(command: str, *words: str) -> Ran:
        return here("keys", command, *words, "--json", f"--data-dir={folder}")

    first = keys("list").rows[0]

    granted = keys("grant", first["id"], "3").rows[0]
    taken = keys("grant", first["id"], "-2").rows[0]
    rotated = keys("rotate", first["id"]).rows[0]
    revoked = keys("revoke", first["id"]).rows[0]
    again = keys("revoke", first["id"]).rows[0]

    assert granted == {"id": first["id"], "quota": 10, "used": 0, "remaining": 10}
    assert taken["quota"] == 8
    assert rotated["key"].startswith("cs_live_")
    assert (revoked["changed"], again["changed"]) == (True, False)
    shown = keys("show", first["id"]).rows[0]
    assert (shown["quota"], shown["revoked"]) == (8, True)
    assert shown["last4"] == rotated["key"][-4:] != first["last4"]


def test_limits_of_a_key_are_set_with_it_and_changed_by_a_command(
    folder: Path, here: Here
) -> None:
    where = f"--data-dir={folder}"
    made = here("keys", "create", "--per-minute=2", "--per-day=20", "--json", where).rows[0]

    (before,) = here("keys", "show", made["id"], "--json", where).rows
    (changed,) = here("keys", "limit", made["id"], "--per-day=30", "--json", where).rows
    (after,) = here("keys", "show", made["id"], "--json", where).rows
    trail = here("log", "trail", where, width=200).out
    history = here("keys", "show", made["id"], where, width=200).out

    assert "key limited: 2 a minute, 30 a day" in history
    assert (before["per_minute"], before["per_day"]) == (2, 20)
    assert changed == {"id": made["id"], "per_minute": 2, "per_day": 30}
    assert (after["per_minute"], after["per_day"]) == (2, 30)
    assert "key limited: 2 a minute, 20 a day" in trail
    assert "key limited: 2 a minute, 30 a day" in trail


def test_a_rotation_may_leave_the_old_secret_time(folder: Path, here: Here) -> None:
    where = f"--data-dir={folder}"
    key = here("keys", "list", "--json", where).rows[0]["id"]

    (rotated,) = here("keys", "rotate", key, "--overlap", "90m", "--json", where).rows
    until = rotated["old_until"]
    (shown,) = here("keys", "show", key, "--json", where).rows
    listed = here("keys", "list", where, width=200).out
    trail = here("log", "trail", where, width=200).out
    (ended,) = here("keys", "rotate", key, "--json", where).rows
    (after,) = here("keys", "show", key, "--json", where).rows

    assert timedelta(minutes=89) < datetime.fromisoformat(until) - datetime.now(UTC)
    assert shown["old_secret_until"] == until
    assert until in listed
    assert f"key rotated, the old secret works until {until}" in trail
    assert (ended["old_until"], after["old_secret_until"]) == (None, None)
    assert "old_secret" not in here("keys", "list", where, width=200).out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["limit", "KEY", "--per-minute=7"], 2, "Must be <= 6"),
        (["rotate", "KEY", "--overlap=8d"], 1, "may go on working for up to 7 days"),
        (["rotate", "KEY", "--overlap=-1h"], 1, "may go on working for up to 7 days"),
        (["show", "key_nobody"], 1, "no key with the id 'key_nobody'; `cs keys list` shows"),
        (["rotate", "key_nobody"], 1, "no key with this id"),
        (["grant", "KEY", "-8"], 1, "the quota cannot go below the 0 units"),
        (["grant", "KEY", "9" * 30], 2, "for UNITS. Must be <= 1000000000"),
        (["create", "--label", "x" * 201], 2, "--label: at most 200 characters"),
        (["frobnicate"], 2, 'Unknown command "frobnicate"'),
        (["list", "--jsn"], 2, "Unknown option: --jsn. Did you mean --json?"),
    ],
)
def test_what_is_wrong_is_reported_and_changes_nothing(
    folder: Path, here: Here, words: list[str], code: int, message: str
) -> None:
    before = here("keys", "list", "--json", f"--data-dir={folder}").rows
    words = [before[0]["id"] if word == "KEY" else word for word in words]

    assert message in here("keys", *words, f"--data-dir={folder}").error(code)
    assert here("keys", "list", "--json", f"--data-dir={folder}").rows == before


def test_a_label_is_printed_as_it_is(folder: Path, here: Here) -> None:
    label = "[/x] [red] :smile: \\[ Ünïcode"
    made = here("keys", "create", f"--label={label}", f"--data-dir={folder}")

    assert f"  {label}  quota 100" in made.out
    assert label in here("keys", "list", f"--data-dir={folder}", width=120).out


def test_there_is_nothing_to_pause_before_a_service_ran(folder: Path, here: Here) -> None:
    message = here("pause", f"--data-dir={folder}").error()

    assert message == "no service has run on this data yet; there is nothing to pause"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["a"], 1, "brand must have at least 2 characters"),
        (["--domain=localhost"], 1, "domain must"),
        ([], 2, "name a brand, a --domain, or both"),
        (["Veltrana"], 1, "Veltrana was never looked up, and no other brand was"),
    ],
)
def test_a_brand_that_cannot_be_forgotten_is_reported(
    folder: Path, here: Here, words: list[str], code: int, message: str
) -> None:
    assert message in here("brands", "forget", *words, f"--data-dir={folder}").error(code)


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_disk_ends_a_command_with_one_line(folder: Path, form: list[str]) -> None:
    listing = [sys.executable, "-m", "cs", "keys", "list", f"--data-dir={folder}", *form]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            listing,
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    message = "cs: the output cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, message)
