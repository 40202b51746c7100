"""Attacks that never succeeded, against a service as a process, so that they never do."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from harness.served import Served, served

pytestmark = pytest.mark.slow

PAGE_ATTACK = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
PERSONAL = ("full_name", "last_name", "email", "headline", "linkedin_url")


class Searched(NamedTuple):
    """A service whose key has found people, and searched for markup."""

    service: Served
    searches: Sequence[str]
    people: frozenset[str]  # their names, addresses and headlines


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    with served(tmp_path_factory.mktemp("held") / "data") as service:
        records: list[dict[str, Any]] = []
        with service.client(service.new_key()) as client:
            for brand in ("Veltrana", PAGE_ATTACK):
                answer = client.post("/contacts", json={"brand": brand, "wait": True})
                records.append(answer.json())
        contacts = [each for record in records for each in record["contacts"]]
        people = {each[name] for each in contacts for name in PERSONAL if each[name]}
        assert len(people) > 10
        yield Searched(service, [record["id"] for record in records], frozenset(people))


#: Commands that show or write history; {out} is a new file.
UNREVEALED = (
    *("events export", "events export --out {out}.ndjson", "events export --out {out}.parquet"),
    *("events export --out {out}.duckdb", "events export --format tables --out {out}"),
    *("searches list --json", "searches list", "report --json", "report --html {out}.html"),
    *("searches show {search}", "searches show {search} --json"),
    "searches show {search} --html {out}.html",
)


@pytest.mark.parametrize("command", UNREVEALED)
def test_no_output_shows_people_unless_they_are_revealed(
    searched: Searched, tmp_path: Path, command: str
) -> None:
    words = command.format(out=tmp_path / "out", search=searched.searches[0]).split()

    printed = searched.service.command(*words)

    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert printed or made
    text = printed + "".join(map(in_text, made))
    assert len(text) > 200
    assert [each for each in searched.people if each in text] == []
    assert {path.stat().st_mode & 0o777 for path in made} <= {0o600}


def test_revealed_people_are_found_in_an_export(searched: Searched, tmp_path: Path) -> None:
    out = tmp_path / "out.ndjson"
    searched.service.command(
        "events", "export", "--out", str(out), "--reveal", "to see that they are found"
    )

    text = in_text(out)

    assert [each for each in searched.people if each not in text] == []


@pytest.mark.parametrize(
    "command", ["searches show {search} --html {out}", "report --html {out}"]
)
def test_markup_that_was_searched_for_is_text_on_a_page(
    searched: Searched, tmp_path: Path, command: str
) -> None:
    out = tmp_path / "page.html"

    searched.service.command(*command.format(out=out, search=searched.searches[-1]).split())

    page = out.read_text()
    for part in ("<img src=x", "<script>alert", "onerror=alert(1)>"):
        assert part not in page


def in_text(path: Path) -> str:
    """Return what a file holds, unpacked if it is packed."""
    if path.suffix == ".parquet":
        return str(duckdb.sql(f"FROM '{path}'").fetchall())
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as file:
            tables = [name for (name,) in file.sql("SHOW TABLES").fetchall()]
            return str([file.table(name).fetchall() for name in tables])
    return path.read_text()
