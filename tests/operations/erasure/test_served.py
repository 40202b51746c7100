"""Erasing next to a service that runs, by what is on its disk and what it answers."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from harness.served import cs, served
from operations.erasure.traces import contents, traces

pytestmark = pytest.mark.slow

PROFILE = "https://www.linkedin.com/in/amara-okafor-b01c0bc8"
MAILBOX = "amara.okafor@veltrana.test"
AMARA = (
    "Amara Okafor",
    "Okafor",
    MAILBOX,
    "amara.okafor",
    "amara-okafor-b01c0bc8",
    "Head of Influencer Marketing",
    "London, United Kingdom",
)


def erase(folder: Path, *who: str) -> dict[str, Any]:
    words = cs("people", "erase", *who, "--json", f"--data-dir={folder}")
    told: dict[str, Any] = msgspec.json.decode(words)
    return told


def search(client: httpx.Client, brand: str = "Veltrana") -> dict[str, Any]:
    answer = client.post("/contacts", json={"brand": brand, "wait": True})
    record: dict[str, Any] = answer.raise_for_status().json()
    return record


def read(client: httpx.Client, search: str) -> dict[str, Any]:
    record: dict[str, Any] = client.get(f"/searches/{search}").raise_for_status().json()
    return record


def without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {**record, "contacts": [c for c in record["contacts"] if c["full_name"] != name]}


def data_keys(folder: Path) -> dict[str, bytes | None]:
    with closing(sqlite3.connect(f"file:{folder / 'keys.db'}?mode=ro", uri=True)) as database:
        return dict(database.execute("SELECT name, wrapped FROM data_key"))


def standing_in(folder: Path, keys: Iterable[bytes]) -> int:
    """Count those of *keys* that are in some file of *folder*."""
    files = contents(folder).values()
    return sum(any(key in data for data in files) for key in keys)


def test_a_person_is_erased_next_to_a_running_service(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with served(folder) as service:
        key = service.new_key()
        with service.client(key) as client:
            before = search(client)
            assert {MAILBOX, PROFILE} <= set(before["contacts"][0].values())
            assert traces(folder, AMARA) == [], "nothing is in clear to begin with"
            assert traces(folder, ["Veltrana"]), "what is in clear is found"
            keys = data_keys(folder)

            told = erase(folder, "--profile", PROFILE.replace("www", "uk") + "/?trk=x")

            assert told == {
                "known": True,
                "lookups": 1,
                "keys_destroyed": 1,
                "directory_rows": 0,
                "suppressed": True,
                "changed": True,
                "disclosed": [],
            }
            after = read(client, before["id"])
            assert after == without(before, "Amara Okafor")
            assert len(after["contacts"]) == len(before["contacts"]) - 1
            again = search(client)
            assert (again["cached"], again["charged"]) == (True, True)
            assert again["contacts"] == after["contacts"]

            left = data_keys(folder)
            gone = [old for name, old in keys.items() if old and left[name] is None]
            assert len(gone) == 2, "theirs, and that of the old answer"
            assert standing_in(folder, gone) == 0
            assert standing_in(folder, [old for old in left.values() if old]) == len(
                [old for old in left.values() if old]
            )
            assert traces(folder, AMARA) == []
            live_again(folder, client)


def live_again(folder: Path, client: httpx.Client) -> None:
    """A live search does not bring them back."""
    cs("brands", "forget", "Veltrana", f"--data-dir={folder}")
    record = search(client)
    assert (record["cached"], record["status"]) == (False, "done")
    assert record["contacts"]
    assert "Amara Okafor" not in {contact["full_name"] for contact in record["contacts"]}
    assert traces(folder, AMARA) == []
