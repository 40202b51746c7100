"""`cs events` on the data of a service, next to it and without it."""

import asyncio
import json
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.command import Here, started
from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import LookupStarted, PeopleFound
from cs.domain.codec import AnyEvent
from cs.domain.contact import Person, Query
from cs.domain.key import QuotaGranted, SearchAdmitted
from cs.eventlog.port import NO_STREAM, Append
from harness.on_data import data_of, plant

AT = datetime(2026, 3, 1, tzinfo=UTC)
ACME = Query(brand="Acme")
STREAM = brand_stream(ACME)
LOOKUP = lookup_id(STREAM, 1, "aaaa")
JANE = Person(
    person="p1", full_name="Jane Roe", headline="Head of Social \u202e", sources=("s",)
)
ON_KEY: Sequence[AnyEvent] = (
    QuotaGranted(at=AT, units=5),
    SearchAdmitted(
        at=AT + timedelta(days=1), search="s1", brand="Acme", query=ACME, lookup=LOOKUP
    ),
)
ON_BRAND: Sequence[AnyEvent] = (
    LookupStarted(
        at=AT + timedelta(days=1), lookup=LOOKUP, number=1, query=ACME, deadline_at=AT
    ),
    PeopleFound(at=AT + timedelta(days=2), lookup=LOOKUP, people=(JANE,)),
)


@pytest.fixture
def history(folder: Path, here: Here) -> Path:
    """A data folder with an issued key, and four more events."""

    (first,) = here("events", "export", f"--data-dir={folder}").rows
    plant(folder, Append(first["stream"], 0, ON_KEY), Append(STREAM, NO_STREAM, ON_BRAND))
    return folder


def test_events_are_exported_as_lines_of_json(history: Path, here: Here) -> None:
    ran = here("events", "export", f"--data-dir={history}")

    assert ran.code == 0
    assert [row["position"] for row in ran.rows] == [1, 2, 3, 4, 5]
    assert [row["type"] for row in ran.rows[1:]] == [
        "key.quota-granted.v1",
        "key.search-admitted.v1",
        "brand.lookup-started.v1",
        "brand.people-found.v1",
    ]
    assert ran.rows[3]["data"]["query"] == {"brand": "Acme", "domain": None}
    found = ran.rows[4]
    who = found["data"]["people"][0].pop("who")
    assert re.fullmatch("person_[0-9a-z]{16}", who)
    assert found == {
        "position": 5,
        "stream": STREAM,
        "version": 1,
        "type": "brand.people-found.v1",
        "at": "2026-03-03T00:00:00Z",
        "data": {
            "at": "2026-03-03T00:00:00Z",
            "lookup": LOOKUP,
            "people": [{"personal": "person", "person": f"{LOOKUP}#p1"}],
        },
    }
    assert "Jane" not in ran.out
    again = here("events", "show", "5", "--json", f"--data-dir={history}")
    assert again.rows[0]["data"]["people"][0]["who"] == who


def test_no_line_has_the_hash_of_a_keys_secret_or_a_person_erased(
    history: Path, here: Here
) -> None:
    at = f"--data-dir={history}"
    destroy_key_of_jane(history)

    ran = here("events", "export", at)
    opened = here("events", "export", "--type=people-found", at, "--reveal", WHY)

    assert ran.rows[0]["type"] == "key.issued.v1"
    assert {"at", "label", "quota", "last4"} <= ran.rows[0]["data"].keys()
    assert "secret_hash" not in ran.out + here("events", "show", "1", at).out
    for rows in (ran.rows, opened.rows):
        people = next(r["data"]["people"] for r in rows if r["type"] == "brand.people-found.v1")
        assert people == [{"personal": "person", "person": f"{LOOKUP}#p1"}]


def destroy_key_of_jane(folder: Path) -> None:
    async def destroy() -> None:
        async with data_of(folder) as data:
            await data.keys.destroy([f"{LOOKUP}#p1"])

    asyncio.run(destroy())


@pytest.mark.parametrize(
    ("options", "positions"),
    [
        (("--type=search-admitted", "--type=brand.people-found.v1"), [3, 5]),
        (("--category=brand",), [4, 5]),
        (("--brand=ACME",), [3, 4, 5]),
        (("--domain=acme.com",), []),
        ((f"--lookup={LOOKUP}", "--category=key"), [3]),
        ((f"--stream={STREAM}", "--until=2026-03-03"), [4]),
        (("--since=2026-03-02", "--until=2026-03-02T12:00:00+02:00"), [3, 4]),
        (("--after=1", "--upto=2"), [2]),
    ],
)
def test_what_is_meant_is_selected(
    options: Sequence[str], positions: list[int], history: Path, here: Here
) -> None:
    ran = here("events", "export", *options, f"--data-dir={history}")

    assert [row["position"] for row in ran.rows] == positions


def test_an_export_cut_off_in_a_line_goes_on_where_it_ended(
    history: Path, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "events.ndjson"
    export = ("events", "export", "--category=key", f"--out={out}", f"--data-dir={history}")
    assert here(*export).out == f"3 events written to {out}\n"
    whole = out.read_bytes()
    assert out.stat().st_mode & 0o777 == 0o600

    assert "is there already" in here(*export).error(2)
    for cut in (len(whole), len(whole) - 1, len(whole.splitlines(keepends=True)[0]) + 3, 5, 0):
        out.write_bytes(whole[:cut])
        assert here(*export, "--resume").code == 0
        assert out.read_bytes() == whole


def test_a_file_that_is_no_export_is_not_written_to(
    history: Path, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "letter.txt"
    out.write_text("Dear Jane,\n")

    ran = here("events", "export", "--resume", f"--out={out}", f"--data-dir={history}")

    assert "no export of events" in ran.error()
    assert out.read_text() == "Dear Jane,\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("export", "--type=search-ended"), 2, "no event is of the type 'search-ended'"),
        (("export", "--category=keys"), 2, "key, brand, mail-domain, person, disclosure"),
        (("export", "--since=yesterday"), 2, "Invalid value for --since: a time is written"),
        (("export", "--resume"), 2, "name the file with --out"),
        (("tail", "--key=key_nobody"), 1, "there is no key key_nobody; there are key_"),
        (("show", "0"), 1, "no event at position 0"),
        (("show", "77", "--reveal", "Nothing is opened by this"), 1, "no event at position 77"),
        (("export", "--reveal", "ticket 4711"), 2, "3 words"),
        (("show", "5", "--reveal", "why not"), 2, "10 to 300 characters"),
        (("tail", "--reveal", "so " * 101), 2, "10 to 300 characters, this one 302"),
        (("tail", "--reveal", "jane.roe@acme.example asked for it"), 2, "must name no person"),
        (
            ("export", "--reveal", "For https://uk.LinkedIn.com/in/jane-roe she says"),
            2,
            "must name no person",
        ),
    ],
)
def test_a_mistake_is_reported_and_reveals_no_person(
    words: Sequence[str], code: int, said: str, history: Path, here: Here
) -> None:
    assert said in here("events", *words, f"--data-dir={history}").error(code)
    assert disclosures(history, here) == []


def test_one_event_is_shown(history: Path, here: Here) -> None:
    ran = here("events", "show", "3", f"--data-dir={history}")

    assert ran.code == 0
    assert "key.search-admitted.v1  2026-03-02T00:00:00Z\n" in ran.out
    assert '"brand": "Acme"' in ran.out
    assert (
        here("events", "show", "3", "--json", f"--data-dir={history}").rows[0]["version"] == 2
    )


@pytest.mark.slow
def test_events_are_followed_as_they_are_appended(history: Path) -> None:
    def next_row(tail: "subprocess.Popen[str]") -> dict[str, Any]:
        assert tail.stdout is not None
        row: dict[str, Any] = json.loads(tail.stdout.readline())
        return row

    with started(
        "events", "tail", "--category=key", "--last=3", f"--data-dir={history}"
    ) as tail:
        first = next_row(tail)
        assert first["position"] == 3
        grant = msgspec.structs.replace(ON_KEY[0], units=7)
        plant(history, Append(first["stream"], 2, [grant]))
        row = next_row(tail)
        assert (row["position"], row["data"]["units"]) == (6, 7)
        tail.terminate()


def test_a_state_is_shown_as_it_was(history: Path, here: Here) -> None:
    stream = here("events", "show", "1", "--json", f"--data-dir={history}").rows[0]["stream"]
    key = stream.removeprefix("key-")

    def stood(*options: str) -> dict[str, Any]:
        ran = here("state", *options, "--json", f"--data-dir={history}")
        assert ran.code == 0, ran
        return ran.rows[0]

    now = stood(key)
    assert (now["stream"], now["position"], now["version"]) == (stream, 3, 2)
    assert [run["search"] for run in now["state"]["running"]] == ["s1"]
    assert now["state"]["secret_hash"] == "(hidden)"
    before = stood(key, "--at=2")["state"]
    assert before["running"] == []
    assert before["quota"] == stood(stream, "--at=1")["state"]["quota"] + 5

    brand = stood(LOOKUP, "--at=2026-03-03T00:00:00Z")
    assert (brand["stream"], brand["version"]) == (STREAM, 1)
    assert "Jane" not in json.dumps(brand)
    assert stood(LOOKUP, "--at=2026-03-02")["version"] == 0
    assert stood(LOOKUP, "--at=20260302")["version"] == 0


def test_what_each_event_changed_is_shown(history: Path, here: Here) -> None:
    ran = here("state", STREAM, "--diff", "4", "5", "--json", f"--data-dir={history}")

    (event,) = ran.rows
    assert (event["position"], event["type"]) == (5, "brand.people-found.v1")
    assert "live.people" in {change["field"] for change in event["changes"]}
    table = here("state", STREAM, "--diff", "0", "2026-04-01", f"--data-dir={history}")
    assert table.code == 0
    assert "brand.lookup-started.v1" in table.out
    assert "Jane" not in ran.out + table.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nike",), 2, "'nike' is no stream: its name begins with its category (key, brand,"),
        (("brand-none",), 1, "brand-none has no events"),
        ((STREAM, "--at=3"), 1, "had no events by then"),
        ((STREAM, "--at=soon"), 2, "--at: a position or a time such as"),
        ((STREAM, "--at=3", "--diff", "1", "2"), 2, "--at and --diff: one of them"),
        ((STREAM, "--diff", "5", "4"), 2, "--diff: 5 is after 4"),
    ],
)
def test_what_has_no_state_is_reported(
    words: Sequence[str], code: int, said: str, history: Path, here: Here
) -> None:
    assert said in here("state", *words, f"--data-dir={history}").error(code)


WHY = "Headlines come without titles, ticket 4711"


def disclosures(folder: Path, here: Here) -> list[dict[str, Any]]:
    ran = here("events", "export", "--type=disclosure.made", f"--data-dir={folder}")
    return [row["data"] for row in ran.rows]


def test_people_are_revealed_for_a_reason_that_is_stored(
    history: Path, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "ticket" / "march.ndjson"
    out.parent.mkdir()
    options = ("--brand=acme", "--since=2026-03-02", f"--data-dir={history}")
    sealed = here("events", "export", *options).rows[-1]["data"]["people"][0]

    ran = here("events", "export", *options, f"--out={out}", "--reveal", f" {WHY}\n")

    assert ran.code == 0
    (person,) = json.loads(out.read_bytes().splitlines()[-1])["data"]["people"]
    assert (person["full_name"], person["headline"]) == ("Jane Roe", "Head of Social \u202e")
    assert person.items() >= sealed.items()
    assert "sealed_with" not in out.read_text()
    (made,) = disclosures(history, here)
    at, by = made.pop("at"), made.pop("by")
    assert made.pop("caused_by") == {"kind": "operator", "command": "events export", "who": by}
    assert made == {
        "command": "events export",
        "why": WHY,
        "asked": {
            "streams": [STREAM],
            "since": "2026-03-02T00:00:00Z",
        },
        "upto": 5,
        "open_until": None,
        "file": "march.ndjson",
    }
    (act,) = here("log", "trail", "--last=1", "--json", f"--data-dir={history}").rows
    assert (act["at"], act["by"], act["what"]) == (at, by, "disclosure_made")
    assert (act["command"], act["why"]) == ("events export", WHY)
    assert act["of"].startswith("disclosure-")
    assert WHY in here("log", "trail", f"--data-dir={history}", width=200).out
    assert here("log", "verify", f"--data-dir={history}").code == 1  # a made-up log, but read


def test_an_event_is_shown_with_people_opened(history: Path, here: Here) -> None:
    ran = here("events", "show", "5", f"--data-dir={history}", "--reveal", WHY)

    assert "Jane Roe" in ran.out
    assert "Head of Social \\u202e" in ran.out
    (made,) = disclosures(history, here)
    assert (made["command"], made["upto"], made["asked"]) == (
        "events show",
        5,
        {"after": 4, "upto": 5},
    )


def test_following_with_people_opened_ends_by_itself(
    history: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.cli.events.REVEALED_FOR", timedelta(seconds=0.3))

    ran = here("events", "tail", "--last=1", f"--data-dir={history}", "--reveal", WHY)

    assert ran.code == 0
    assert "say why again" in ran.err
    (made,) = disclosures(history, here)
    shown = [row["position"] for row in ran.rows]
    assert shown == [5, 6], "the event that says so too"
    assert ran.rows[0]["data"]["people"][0]["full_name"] == "Jane Roe"
    assert (made["upto"], made["asked"]) == (None, {"after": 4})
    opened_for = datetime.fromisoformat(made["open_until"]) - datetime.fromisoformat(made["at"])
    assert timedelta(0) < opened_for <= timedelta(seconds=0.3)


def test_it_is_stored_before_anything_is_shown(
    history: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(line: bytes) -> None:
        raise KeyboardInterrupt(line)

    with monkeypatch.context() as during:
        during.setattr("cs.cli.events._print_all", interrupted)
        ended = here("events", "export", f"--data-dir={history}", "--reveal", WHY)

    assert (ended.code, ended.out) == (130, "")
    assert [made["upto"] for made in disclosures(history, here)] == [5]
