"""`cs demo --history`: a year of events, as the service itself wrote them."""

import json
import re
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran, started
from cli.year import year

__all__ = ["year"]
pytestmark = pytest.mark.slow

BEGINS, WEEK = datetime(2025, 11, 3, tzinfo=UTC), timedelta(weeks=1)


@pytest.fixture(scope="module")
def events(year: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    out = tmp_path_factory.mktemp("events") / "all.ndjson"
    assert ran("events", "export", "--data-dir", str(year), "--out", str(out)).code == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_nothing_in_it_breaks_a_promise(year: Path) -> None:
    checked = ran("log", "verify", "--data-dir", str(year))

    assert checked.code == 0, checked
    assert "0 searches not settled" in checked.out
    assert "no violations" in checked.out


def test_it_is_a_year_of_every_kind_of_event(events: list[dict[str, Any]]) -> None:
    times = [each["at"] for each in events]
    kinds = Counter(each["type"] for each in events)

    assert min(times) >= BEGINS.isoformat()[:19]
    assert max(times) < (BEGINS + 52 * WEEK).isoformat()[:19]
    assert len({at[:7] for at in times}) == 12  # something in every month
    assert kinds["key.search-settled.v1"] == kinds["key.search-admitted.v1"] > 400
    for kind in ("key.quota-granted.v1", "key.rotated.v1", "key.revoked.v1"):
        assert kinds[kind]
    for kind in ("service.paused.v1", "brand.forgotten.v1", "person.erased.v1"):
        assert kinds[kind]
    settled = [each for each in events if each["type"] == "key.search-settled.v1"]
    assert {each["data"]["outcome"] for each in settled} >= {
        "done",
        "no_emails",
        "no_contacts",
        "scrape_error",
    }
    assert {each["data"]["cached"] for each in settled} == {True, False}


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")

    refused = ran("demo", "--history", "--data-dir", str(tmp_path))

    assert refused.code == 2
    assert "is there already; remove it, or name another with --data-dir" in refused.err
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    assert "goes with --history" in ran("demo", "--data-dir", "x").err


def test_with_its_console_it_ends_today(tmp_path: Path) -> None:
    folder = tmp_path / "year"
    begun = datetime.now(UTC)
    with started("demo", "--history", "--open", f"--data-dir={folder}", DISPLAY="") as process:
        assert process.stdout is not None
        said = ""
        while not said.endswith("Ctrl-C ends it.\n"):
            said += (line := process.stdout.readline())
            assert line, said
        (url,) = re.findall(r"The console: (\S+)", said)
        week = httpx.get(f"{url}?span=week", trust_env=False).text
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0

    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", week))
    assert int(facts["Searches ended"]) > 0
    days = (begun, datetime.now(UTC))  # it may be midnight
    assert any(f"from {day - 52 * WEEK:%Y-%m-%d} on" in said for day in days)
    exported = ran("events", "export", f"--data-dir={folder}", "--type=search-admitted").out
    times = [json.loads(each)["at"] for each in exported.splitlines()]
    assert (begun - WEEK).isoformat() < max(times) < begun.isoformat()
