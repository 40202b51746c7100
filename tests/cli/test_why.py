"""`cs events why` on the data that a real service left."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from harness.in_process import on_folder

#: What the harness's outside world finds people for.
FOUND = "Acme"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of two keys that waited for one run, and of one that reused it."""
    folder = tmp_path_factory.mktemp("why") / "data"

    async def serve() -> None:
        async with on_folder(folder) as service:
            key, other = await service.new_key(), await service.new_key()
            both = await asyncio.gather(
                service.search(key, brand=FOUND), service.search(other, brand=FOUND)
            )
            reused = await service.search(key, brand=FOUND)
            assert [each.status_code for each in (*both, reused)] == [200] * 3

    asyncio.run(serve())
    return folder


@pytest.fixture
def events(folder: Path, here: Here) -> list[dict[str, Any]]:
    return here("events", "export", f"--data-dir={folder}").rows


def of(events: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == type_]


def test_a_charge_leads_back_to_the_calls_that_asked_for_it(
    folder: Path, events: list[dict[str, Any]], here: Here
) -> None:
    admitted = {e["data"]["search"]: e for e in of(events, "key.search-admitted.v1")}
    settled = [e for e in of(events, "key.search-settled.v1") if not e["data"]["cached"]]
    first, joined = sorted(settled, key=lambda e: admitted[e["data"]["search"]]["position"])

    (why,) = here(
        "events", "why", f"{joined['position']}", "--json", f"--data-dir={folder}"
    ).rows

    origins = [each for each in why["before"] if not each["follows"]]
    asked = [admitted[each["data"]["search"]] for each in (first, joined)]
    assert [each["position"] for each in origins] == [each["position"] for each in asked]
    assert [each["caused_by"] for each in origins] == [
        {
            "kind": "request",
            "id": each["data"]["request"],
            "key": each["stream"].removeprefix("key-"),
        }
        for each in asked
    ]
    (finished,) = of(events, "brand.lookup-finished.v1")
    assert why["event"]["follows"] == [finished["position"], asked[1]["position"]]
    assert (why["event"]["charged"], why["after"]) == (True, [])


def test_a_call_leads_forward_to_everything_of_its_run_and_both_charges(
    folder: Path, events: list[dict[str, Any]], here: Here
) -> None:
    (start,) = of(events, "brand.lookup-started.v1")

    (why,) = here(
        "events", "why", f"{start['position'] - 1}", "--json", f"--data-dir={folder}"
    ).rows

    live = [e for e in of(events, "key.search-settled.v1") if not e["data"]["cached"]]
    run = [e for e in events if e["type"].startswith(("brand.", "mail-domain."))]
    led_to = sorted(each["position"] for each in (*run, *live))
    assert [each["position"] for each in why["after"]] == led_to
    assert why["before"] == []
    assert why["event"]["type"] == "key.search-admitted.v1"


def test_a_search_is_explained_from_its_admission_on(
    folder: Path, events: list[dict[str, Any]], here: Here
) -> None:
    for admitted in of(events, "key.search-admitted.v1"):
        words = ("events", "why", admitted["data"]["search"], "--json")
        (why,) = here(*words, f"--data-dir={folder}").rows

        assert why["event"]["position"] == admitted["position"]
        charged = [each["charged"] for each in why["after"] if "charged" in each]
        assert charged, "forward to the charge"
    ran = here("events", "why", "srch_none", f"--data-dir={folder}")
    assert ran.error().startswith("there is no search srch_none")


@pytest.mark.parametrize("position", ["0", "-3", "9999"])
def test_where_there_is_no_event_it_says_so(folder: Path, here: Here, position: str) -> None:
    ran = here("events", "why", f"--data-dir={folder}", "--", position)

    assert ran.error() == f"there is no event at position {position}"
