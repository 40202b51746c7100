"""People of the operator's own directory, in a service that runs: found, verified, erased."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from harness.served import Served, served

pytestmark = pytest.mark.slow

#: The world knows the brand and its mailboxes, and nobody who works there.
WORLD = {
    "brands": [
        {
            "name": "Solbrook",
            "domain": "solbrook.test",
            "linkedin": "solbrook",
            "intends": {"outcome": "no_contacts"},
        }
    ],
    "mail": [{"domain": "solbrook.test", "mailboxes": {"i.nyman": "open", "ole.vik": "open"}}],
}
IDA, OLE = (f"https://www.linkedin.com/in/{slug}" for slug in ("ida-nyman", "ole-vik"))
FILE = f"""Name;Job title;Company;Website;LinkedIn;E-Mail
Ida Nyman;Head of Influencer Marketing;Solbrook AB;www.solbrook.test;{IDA};i.nyman@solbrook.test
Ole Vik;Social Media Manager;Sólbrook;;{OLE};gone@solbrook.test
Una Roth;Social Media Manager;Solbrook;solbrookhomes.test;https://www.linkedin.com/in/una;
"""


def search(client: httpx.Client) -> dict[str, Any]:
    answer = client.post("/contacts", json={"brand": "Solbrook", "wait": True})
    record: dict[str, Any] = answer.raise_for_status().json()
    return record


def told(service: Served, *words: str) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.json.decode(service.command(*words, "--json"))
    return row


def test_who_is_only_in_the_directory_is_found_and_verified_and_erased_for_good(
    tmp_path: Path,
) -> None:
    world, file, folder = tmp_path / "world.json", tmp_path / "own.csv", tmp_path / "data"
    world.write_bytes(msgspec.json.encode(WORLD))
    file.write_text(FILE)
    with served(folder, str(world)) as service, service.client(service.new_key()) as client:
        before = search(client)
        imported = told(service, "directory", "import", str(file))
        service.command("brands", "forget", "Solbrook")
        found = search(client)
        held = told(service, "people", "export", "--email", "i.nyman@solbrook.test")
        erased = told(service, "people", "erase", "--email", "i.nyman@solbrook.test")
        again = told(service, "directory", "import", str(file))
        without_address = tmp_path / "profiles.csv"
        without_address.write_text(f"Name;Company;LinkedIn\nIda Nyman;Solbrook;{IDA}\n")
        by_profile = told(service, "directory", "import", str(without_address))
        service.command("brands", "forget", "Solbrook")
        after = search(client)

    assert (before["status"], before["reason"]) == ("failed", "no_contacts")
    assert (imported["new"], imported["refused"]) == (3, 0)
    assert found["status"] == "done"
    people = {each["full_name"]: each for each in found["contacts"]}
    assert set(people) == {"Ida Nyman", "Ole Vik"}, "and not a namesake's"
    ida, ole = people["Ida Nyman"], people["Ole Vik"]
    assert (ida["email"], ida["email_source"]) == ("i.nyman@solbrook.test", "smtp")
    assert (ida["linkedin_url"], ida["title"]) == (IDA, "Head of Influencer Marketing")
    assert ole["email"] == "ole.vik@solbrook.test", "what the file said proves nothing"
    assert _sources(folder) == {"directory": "used", "searxng": "no_results"}
    (row,) = held["directory"]
    assert row["email"] == "i.nyman@solbrook.test"
    assert (erased["directory_rows"], erased["lookups"]) == (1, 1)
    assert (again["suppressed"], again["unchanged"]) == (1, 2)
    assert by_profile["suppressed"] == 1, "by whatever else the directory knew of them"
    assert [each["full_name"] for each in after["contacts"]] == ["Ole Vik"]


def _sources(folder: Path) -> dict[str, str]:
    """Return how the people sources of the last lookup of the log at *folder* ended."""
    query = (
        "SELECT state FROM stored_events WHERE topic LIKE 'brand.contacts-discovered.%' "
        "AND CAST(state AS TEXT) LIKE '%\"directory\"%' ORDER BY rowid"
    )
    with closing(sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True)) as log:
        (state, *_) = [row[0] for row in log.execute(query)]
    sources: dict[str, str] = msgspec.json.decode(state)["sources"]
    return sources
