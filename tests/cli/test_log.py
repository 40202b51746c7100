"""`cs log`: finds what the rules forbid in a log that really holds it; says who did what."""

import os
import pwd
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.command import Here, Ran
from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import QuotaGranted, SearchAdmitted, SearchSettled
from cs.eventlog.port import NO_STREAM, Append
from domain.golden_files import golden_event
from harness.on_data import plant
from harness.served import served

AT = datetime(2100, 1, 1, tzinfo=UTC)  # after the key was issued
QUERY = Query("Acme")
LOOKUP = "brand-acme.1"
STARTED = LookupStarted(lookup=LOOKUP, number=1, query=QUERY, deadline_at=AT, at=AT)
FINISHED = LookupFinished(lookup=LOOKUP, outcome="done", reusable=True, verified=1, at=AT)
ADMITTED = SearchAdmitted(search="s1", brand="Acme", query=QUERY, lookup=LOOKUP, at=AT)
SETTLED = SearchSettled(
    search="s1", lookup=LOOKUP, outcome="done", charged=True, cached=False, at=AT
)


@pytest.fixture
def planted(folder: Path, here: Here) -> Callable[..., None]:
    """Append events that nothing decided to the one key, and to a brand."""

    def plant_both(on_key: Sequence[AnyEvent], on_brand: Sequence[AnyEvent]) -> None:
        (first,) = here("events", "export", f"--data-dir={folder}").rows
        of_brand = Append("brand-acme", NO_STREAM, on_brand)
        plant(folder, of_brand, Append(first["stream"], 0, on_key))

    return plant_both


def verify(here: Here, folder: Path, *options: str) -> Ran:
    return here("log", "verify", "--json", *options, f"--data-dir={folder}")


def test_a_sound_log_is_reported_in_numbers(
    folder: Path, here: Here, planted: Callable[..., None]
) -> None:
    planted([ADMITTED, SETTLED], [STARTED, FINISHED])

    ran = here("log", "verify", "--at-rest", f"--data-dir={folder}")

    assert ran.code == 0
    assert ran.out == "5 events, 0 searches not settled, views at 0: no violations\n"


def test_every_violation_is_a_line_and_the_exit_code_is_1(
    folder: Path, here: Here, planted: Callable[..., None]
) -> None:
    planted([ADMITTED, SETTLED, SETTLED], [STARTED, FINISHED])

    ran = verify(here, folder)
    text = here("log", "verify", f"--data-dir={folder}")

    assert ran.code == text.code == 1
    (violation, counts) = ran.rows
    assert (violation["kind"], violation["position"]) == ("settled-twice", 6)
    assert counts == {"events": 6, "unfinished": 0, "views_at": 0, "violations": 1}
    assert text.out.startswith(f"settled-twice {violation['stream']}")
    assert "s1 at 6\n" in text.out
    assert text.out.endswith("1 violations\n")


def test_data_keys_that_are_lost_are_reported_for_each_event_and_person(
    folder: Path, here: Here, planted: Callable[..., None]
) -> None:
    finished = golden_event("brand.lookup-finished.v1")
    assert isinstance(finished, LookupFinished)
    started = replace(STARTED, lookup=finished.lookup, at=finished.at)
    planted([QuotaGranted(units=1, at=AT)], [started, finished])
    with closing(sqlite3.connect(folder / "keys.db")) as keys, keys:
        keys.execute("DELETE FROM data_key WHERE name LIKE '%#p1'")

    ran = verify(here, folder)

    assert ran.code == 1
    (violation, counts) = ran.rows
    assert (violation["kind"], violation["stream"]) == ("key-lost", "brand-acme")
    assert violation["position"] == counts["events"] - 1
    assert f"{finished.lookup}#p1 reads as erased" in violation["what"]
    assert "Quillfeather" not in ran.out + ran.err


@pytest.mark.slow  # a service in a process of its own
def test_a_snapshot_that_its_events_do_not_fold_to_is_a_violation(
    folder: Path, here: Here, planted: Callable[..., None]
) -> None:
    planted([QuotaGranted(units=1, at=AT)] * 501, [STARTED, FINISHED])
    key = here("keys", "list", "--json", f"--data-dir={folder}").rows[0]["id"]
    with served(folder):
        pass  # it folds the keys in use, and keeps what it folded
    sound = verify(here, folder)
    with closing(sqlite3.connect(folder / "log.db")) as log, log:
        log.execute("UPDATE snapshots SET state = replace(CAST(state AS TEXT), '508', '509')")
        assert log.total_changes == 1

    (violation, counts) = verify(here, folder).rows

    assert sound.code == 0, sound
    assert (violation["kind"], violation["stream"]) == ("snapshot", f"key-{key}")
    assert counts["violations"] == 1


@pytest.mark.parametrize(
    "damage",
    [
        ("UPDATE view_builds SET position = 9", "position", "position 9, the log ends at 6"),
        ("DELETE FROM stored_events WHERE rowid = 3", "damaged", "the log is damaged"),
        ("UPDATE stored_events SET state = 'x' WHERE rowid = 2", "damaged", "brand-acme"),
    ],
)
def test_damage_is_named_and_the_rest_is_checked(
    damage: tuple[str, str, str], folder: Path, here: Here, planted: Callable[..., None]
) -> None:
    change, kind, what = damage
    planted([ADMITTED, SETTLED, SETTLED], [STARTED, FINISHED])
    database = folder / ("views.db" if "view_builds" in change else "log.db")
    with closing(sqlite3.connect(database)) as changed, changed:
        changed.execute(change)

    ran = verify(here, folder)

    assert ran.code == 1
    assert [row["kind"] for row in ran.rows[:-1]] == [kind, "settled-twice"]
    assert what in ran.rows[0]["what"] + ran.rows[0]["stream"]


def test_the_trail_lists_each_act_with_its_account(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    me = pwd.getpwuid(os.getuid()).pw_name
    at = f"--data-dir={tmp_path}"
    key = here("keys", "create", "--json", at).rows[0]["id"]
    here("keys", "grant", key, "5", at, CS_OPERATOR="ci\u202e deploy\x07")
    here("people", "erase", "--email=jane@acme.example", at)

    (shown,) = here("keys", "show", key, "--json", at).rows
    trail = here("log", "trail", "--json", at).rows
    of_ci = here("log", "trail", "--json", "--by=ci deploy", at).rows
    for_people = here("keys", "show", key, at).out
    table = here("log", "trail", at).out

    assert [(act["what"], act["by"]) for act in trail] == [
        ("key_issued", me),
        ("quota_granted", "ci deploy"),
        ("person_suppressed", me),
    ]
    assert "jane" not in str(trail)
    assert shown["history"] == trail[:2]
    assert of_ci == trail[1:2]
    assert here("log", "trail", "--json", "--last=1", at).rows == trail[-1:]
    assert "quota granted: 5  by ci deploy" in for_people
    assert "person suppressed" in table
    message = here("log", "trail", "--by=nobody", at).error()
    assert message == f"--by: nobody did nothing; there are ci deploy, {me}"


def test_no_act_is_left_out_unsaid(
    folder: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table has the newest and says of how many; JSON has all; so has --last 0."""
    monkeypatch.setattr("cs.cli.choosing.NEWEST", 2)
    at = f"--data-dir={folder}"
    for n in range(3):
        here("keys", "create", f"--label={n}", at)

    table = here("log", "trail", at).out.splitlines()

    assert len(here("log", "trail", "--json", at).rows) == 4
    assert table[-1] == "the newest 2 of 4; --last 0 shows all"
    assert len(table) == 4
    assert len(here("log", "trail", "--last=0", at).out.splitlines()) == 5


def test_the_account_is_that_of_the_setting_or_of_the_login(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def acted(**more: str) -> str:
        at = f"--data-dir={tmp_path}"
        assert here("keys", "create", at, **more).code == 0
        by: str = here("log", "trail", "--last=1", "--json", at).rows[0]["by"]
        return by

    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)
    assert acted() == "uid 3999999999"

    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert acted(SUDO_USER="ada") == "ada as root"
    assert acted(SUDO_USER="ada", CS_OPERATOR="night shift") == "night shift"
