"""`cs status`, and what cannot be undone, next to a service that has searched."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from cli.command import Here
from client.answering import answering
from cs.domain.brand.brand import INITIAL, decide
from cs.domain.brand.events import (
    DEADLINE,
    AttemptFailed,
    LookupFinished,
    StageIssued,
    StartLookup,
)
from cs.domain.contact import Query
from cs.eventlog.port import NO_STREAM, Append
from domain.golden_files import golden_event
from harness.on_data import plant
from harness.served import Served, served

#: The service, and what its first search found.
Searched = tuple[Served, dict[str, Any]]


@pytest.fixture(scope="module")
def searched(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Searched]:
    """A sandbox that found the people of one brand and could not pin down another."""
    with served(tmp_path_factory.mktemp("status") / "data") as service:
        key = msgspec.json.decode(
            service.command("keys", "create", "--label=Sales, Berlin", "--quota=500", "--json")
        )
        with service.client(key) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
            client.post("/contacts", json={"brand": "Nobody Knows Them", "wait": True})
        yield service, found


def cs(here: Here, service: Served, *words: str, width: int = 200, **more: str) -> str:
    """Return what a command next to *service* prints; it has to end well."""
    done = here(*words, f"--data-dir={service.folder}", width=width, **more)
    assert done.code == 0, done
    return done.out


def rows(here: Here, service: Served, *words: str) -> list[dict[str, Any]]:
    return here(*words, "--json", f"--data-dir={service.folder}").rows


@pytest.mark.slow  # a service in a process of its own
def test_what_cannot_be_undone_says_first_what_it_would_hit(
    here: Here,
    searched: Searched,
) -> None:
    service, found = searched
    address = next(c["email"] for c in found["contacts"] if c["email"])
    before = rows(here, service, "status")[0]["events"]

    (erasing,) = rows(here, service, "people", "erase", "--dry-run", f"--email={address}")
    message = cs(here, service, "people", "erase", "--dry-run", f"--email={address}")
    nobody = rows(here, service, "people", "erase", "--dry-run", "--email=nobody@acme.test")[0]
    (forgetting,) = rows(here, service, "brands", "forget", "Veltrana", "--dry-run")

    assert (erasing["lookups"], erasing["brands"]) == (1, ["Veltrana"])
    assert erasing["keys"] > 0
    assert "nothing is changed" in message
    assert "brands          Veltrana" in message
    assert address not in message
    assert (nobody["lookups"], nobody["keys"], nobody["brands"]) == (0, 0, [])
    assert forgetting["forgotten"] is False
    assert forgetting["found"]["outcome"] == "done"
    assert rows(here, service, "status")[0]["events"] == before, "nothing was stored"
    with service.client(rows(here, service, "keys", "create")[0]) as client:
        again = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
    assert (again["cached"], len(again["contacts"])) == (True, len(found["contacts"]))


@pytest.mark.slow  # a service in a process of its own
@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["Veltrama"], "Veltrana (`cs brands list` shows all)"),
        (
            ["Veltrana", "--domain=veltrana.test"],
            "Veltrana (`cs brands list` shows all)",
        ),
        (["Zzz"], "(`cs brands list` shows all)"),
    ],
)
def test_a_brand_that_was_never_searched_is_an_error_that_names_the_nearest(
    here: Here, searched: Searched, words: list[str], near: str
) -> None:
    message = here("brands", "forget", *words, f"--data-dir={searched[0].folder}").error()

    assert "was never looked up" in message
    assert message.endswith(near)


@pytest.mark.slow  # a service in a process of its own
def test_a_person_erased_by_mistake_is_found_again_after_lifting(
    here: Here,
    searched: Searched,
) -> None:
    service, found = searched
    by = f"--email={[c['email'] for c in found['contacts'] if c['email']][-1]}"

    assert here("people", "suppressed", by, f"--data-dir={service.folder}").code == 1
    cs(here, service, "people", "erase", by)
    (one,) = rows(here, service, "people", "suppressed", by)
    assert rows(here, service, "people", "suppressed") == [one]
    (lifted,) = rows(here, service, "people", "suppressed", f"--lift={one['id']}")
    cs(here, service, "brands", "forget", "Veltrana")
    with service.client(rows(here, service, "keys", "create")[0]) as client:
        again = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()

    assert (one["lookups"], lifted["lifted"]) == (1, True)
    assert rows(here, service, "people", "suppressed") == []
    assert by.removeprefix("--email=") in [c["email"] for c in again["contacts"]]
    assert (
        here("people", "suppressed", f"--lift={one['id']}", f"--data-dir={service.folder}")
        .error()
        .startswith("no suppressed person goes by that")
    )


def test_a_status_counts_a_damaged_lookup_and_shows_the_others(
    here: Here, folder: Path
) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for stream in ("brand-hurt", "brand-whole"):
        asked = StartLookup(stream=stream, query=Query("A"), deadline=DEADLINE, at=at)
        plant(folder, Append(stream, NO_STREAM, decide(asked, INITIAL)), folded=True)
    with closing(sqlite3.connect(folder / "log.db")) as database, database:
        hurt = "UPDATE stored_events SET state = x'ff' WHERE originator_id = 'brand-hurt'"
        database.execute(hurt)

    where = f"--data-dir={folder}"
    message = here("status", "--json", where, CS_ADMIN_PORT="1").rows[0]

    assert (message["lookups"], message["damaged"]) == (2, 1)
    assert message["work"] == {"brand-resolution": 1}
    assert "1 damaged (cs log verify)" in here("status", where, CS_ADMIN_PORT="1").out


@pytest.mark.parametrize(
    ("health", "message"),
    [
        ({"ready": True, "log": "ok", "keys": "ok", "head": 3, "views_behind": 1}, "ready"),
        (
            {"ready": False, "log": "the disk is full", "clock_off_s": 1.5},
            "not ready; log: the disk is full; clock_off_s: 1.5",
        ),
        ({"ready": True, "set_aside": ["event 3", "event 4"]}, "set_aside: event 3, event 4"),
        ({"ready": True, "keys_lost": 2}, "ready; keys_lost: 2"),
        ({"ready": True, "insecure": {"kafka": ["k-1", "k-2"]}}, "insecure: kafka=k-1, k-2"),
        (
            {"ready": False, "misconfigured": {"verifiers": "none"}},
            "misconfigured: verifiers=",
        ),
    ],
)
def test_a_status_shows_every_complaint_of_the_admin_port(
    here: Here, folder: Path, health: dict[str, Any], message: str
) -> None:
    with answering((200, msgspec.json.encode(health), {})) as admin:
        port = str(httpx.URL(admin.url).port)
        shown = here("status", f"--data-dir={folder}", CS_ADMIN_PORT=port, width=200).out

    (line,) = [line for line in shown.splitlines() if line.startswith("health")]
    assert message in line
    assert line.endswith("ready") is (message == "ready")


def test_a_status_shows_why_sources_could_not_answer(here: Here, folder: Path) -> None:
    resolved = golden_event("brand.resolved.v1+causes")
    failed = golden_event("brand.attempt-failed.v1+causes")
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(failed, AttemptFailed)
    assert isinstance(issued, StageIssued)
    first = replace(issued, lookup=failed.lookup, stage="brand-resolution", item="")
    asked = replace(issued, lookup=failed.lookup, stage=failed.stage, item="", at=failed.at)
    ended = LookupFinished(
        lookup=failed.lookup, outcome="scrape_error", reusable=False, verified=0, at=failed.at
    )

    started = golden_event("brand.lookup-started.v1")
    events = [started, first, resolved, asked, failed, ended]
    plant(folder, Append(failed.lookup.partition(".")[0], NO_STREAM, events))

    where = f"--data-dir={folder}"
    message = here("status", "--json", where, CS_ADMIN_PORT="1").rows[0]
    shown = here("status", where, CS_ADMIN_PORT="1", width=200).out

    last = message["sources"]["wikidata"]
    assert (last["last"], last["why"]) == ("failed", "Wikidata answers 503")
    assert message["sources"]["directory"]["why"] == ""
    (failure,) = message["failures"]
    assert failure["why"] == "contact-discovery: sources-away; searxng: SearXNG answers 500"
    assert "failed: Wikidata answers 503" in shown
    assert "searxng: SearXNG answers 500" in shown
