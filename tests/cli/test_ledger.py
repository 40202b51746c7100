"""`cs ledger` on the data that a real service left."""

import asyncio
import csv
import io
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from harness.in_process import on_folder

#: What the harness's outside world finds people for, and what it does not.
FOUND, NOBODY = "Acme", "Nobody's brand"


@pytest.fixture(scope="module")
def served_before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    """A folder, a key of it that searched and was granted more, and what it was answered."""
    folder = tmp_path_factory.mktemp("ledger") / "data"

    async def serve() -> tuple[str, dict[str, Any]]:
        async with on_folder(folder) as service:
            key = await service.new_key(quota=3)
            for brand in (FOUND, NOBODY, FOUND):
                answer = await service.search(key, brand=brand)
                assert answer.status_code == 200, answer.text
            await service.operator.grant_quota(key.id, 2)
            async with service.client(key) as client:
                usage: dict[str, Any] = (await client.get("/usage")).json()
            return key.id, usage

    key, usage = asyncio.run(serve())
    return folder, key, usage


def test_every_movement_is_listed_and_the_last_balance_is_that_of_usage(
    served_before: tuple[Path, str, dict[str, Any]], here: Here
) -> None:
    folder, key, usage = served_before

    rows = here("ledger", key, "--json", f"--data-dir={folder}").rows

    assert [(row["what"], row["units"], row["remaining"]) for row in rows] == [
        ("issued", 3, 3),
        ("reserved", 1, 3),
        ("charged", 1, 2),
        ("reserved", 1, 2),
        ("released", 1, 2),
        ("reserved", 1, 2),
        ("charged", 1, 1),
        ("granted", 2, 3),
    ]
    first, again = (row for row in rows if row["what"] == "charged")
    assert {name: rows[-1][name] for name in ("quota", "used", "remaining")} == usage
    assert (first["reused"], again["reused"]) == (False, True)
    assert first["lookup"] == again["lookup"]
    assert first["earned_by"] == again["earned_by"] == [f"{first['lookup']}#p1"]
    assert {row["brand"] for row in rows if row["search"]} == {FOUND, NOBODY}


def test_a_spreadsheet_gets_the_same(
    served_before: tuple[Path, str, dict[str, Any]], here: Here
) -> None:
    folder, key, _ = served_before

    printed = here("ledger", key, "--csv", f"--data-dir={folder}").out

    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["what"] for row in rows].count("charged") == 2
    assert rows[-1]["remaining"] == "3"
    assert rows[2]["reused"] == "false"
    shown = here("ledger", key, f"--data-dir={folder}").out
    assert shown.endswith("quota 5, used 2, remaining 3\n")


def test_who_is_erased_still_earned_it(
    served_before: tuple[Path, str, dict[str, Any]], here: Here, tmp_path: Path
) -> None:
    folder, key, usage = served_before
    data = f"--data-dir={shutil.copytree(folder, tmp_path / 'data')}"
    search = here("ledger", key, "--json", data).rows[2]["search"]
    shown = here(
        "searches", "show", search, "--reveal=a test needs the address", "--json", data
    )
    address = shown.rows[0]["record"]["contacts"][0]["email"]

    assert here("people", "erase", "--email", address, data).code == 0

    charges = [r for r in here("ledger", key, "--json", data).rows if r["earned_by"]]
    assert len(charges) == 2
    assert charges[-1]["used"] == usage["used"]


def test_a_key_that_is_not_there_is_reported(
    served_before: tuple[Path, str, dict[str, Any]], here: Here
) -> None:
    folder, key, _ = served_before

    assert "no key key_none" in here("ledger", "key_none", f"--data-dir={folder}").error()
    both = here("ledger", key, "--csv", "--json", f"--data-dir={folder}")
    assert both.error(2) == "--json or --csv, not both"


def test_a_period_and_a_moment_are_parts_of_the_whole_ledger(
    served_before: tuple[Path, str, dict[str, Any]], here: Here
) -> None:
    folder, key, _ = served_before
    data = f"--data-dir={folder}"
    whole = here("ledger", key, "--json", data).rows
    middle = whole[len(whole) // 2]

    before = here("ledger", key, f"--until={middle['at']}", "--json", data).rows
    after = here("ledger", key, f"--since={middle['at']}", "--json", data).rows
    then = here("ledger", key, f"--at={middle['position']}", data).out

    assert before + after == whole
    assert len(before) not in {0, len(whole)}
    assert then.splitlines()[-1].endswith(f"remaining {middle['remaining']}")
    early = here("ledger", key, "--at=0", data).error()
    assert early == f"{key} had not been issued by then"
