"""`cs report` on the data that a real service left, in a folder and in databases."""

import asyncio
import fcntl
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here, Ran
from cs.history.report import figures
from harness.in_process import on_folder
from harness.outside import tools
from system.older_keys.forms import Form, form_of

FOUND, NOBODY = "Acme", "Nobody's <brand>"


class Data:
    """The data of a service that answered some searches."""

    def __init__(self, form: Form, here: Here) -> None:
        self.form = form
        self._here = here

    async def fill(self) -> None:
        async with self.form.service(tools()) as service:
            key = await service.new_key()
            for brand in (FOUND, NOBODY, FOUND, FOUND.lower()):
                answer = await service.search(key, brand=brand)
                assert answer.status_code == 200, answer.text

    def cs(self, *words: str) -> Ran:
        return self._here(*words, width=200, **self.form.environment)


@pytest.fixture(params=["files", pytest.param("databases", marks=pytest.mark.slow)])
async def data(
    request: pytest.FixtureRequest, tmp_path: Path, here: Here
) -> AsyncIterator[Data]:
    async with form_of(request, tmp_path) as form:
        data = Data(form, here)
        await data.fill()
        yield data


def test_a_report_is_shown_as_tables_as_json_and_as_a_page(data: Data, tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    shown = data.cs("report")
    found: dict[str, Any] = data.cs("report", "--json").rows[0]
    written = data.cs("report", "--html", str(page))

    [summary] = found["figures"]["summary"]
    counted = ("searches_answered", "charged", "reused", "runs")
    assert [summary[name] for name in counted] == [4, 3, 2, 2]
    assert [each["label"] for each in found["figures"]["by_key"]] == ["test"]
    assert found["left_out"] == {}
    assert "Searches answered" in shown.out
    assert "nobody's <brand>" in shown.out.lower()
    assert written.out == f"written to {page}\n"
    assert page.stat().st_mode & 0o777 == 0o600
    html = page.read_text()
    assert "nobody&#39;s &lt;brand&gt;" in html.lower()
    for personal in ("Ada", "Kern", "ada.kern", "linkedin.com/in"):
        assert personal not in shown.out
        assert personal not in html
    for word in ("key", "brand", "source", "month"):
        one = data.cs("report", "--by", word)
        assert len(data.cs("report", "--by", word, "--json").rows[0]["figures"]) == 1
        assert one.out.strip().count("\n\n") == 1, "the period, and one table"


def test_a_canary_takes_no_caller_s_search_with_it(here: Here, folder: Path) -> None:
    """Neither one that its run answered, nor one that started a run for both."""

    async def fill() -> None:
        async with on_folder(folder) as service:
            canary, key = (
                await service.operator.create_key("canary", 9),
                await service.new_key(),
            )
            for each, brand in ((canary, FOUND), (key, FOUND), (key, NOBODY), (canary, NOBODY)):
                await service.search(each, brand=brand)

    asyncio.run(fill())

    figures = here("report", "--json", f"--data-dir={folder}").rows[0]["figures"]

    [summary] = figures["summary"]
    counted = ("searches_answered", "charged", "reused", "runs")
    assert [summary[name] for name in counted] == [2, 1, 1, 1]
    assert [each["label"] for each in figures["by_key"]] == ["test"]
    shown = [
        [each[name] for name in ("searches", "charged", "runs")] for each in figures["by_brand"]
    ]
    assert sorted(shown) == [[1, 0, 1], [1, 1, 0]]
    assert FOUND in {each["brand"] for each in figures["by_brand"]}


@pytest.mark.parametrize(
    "state", [b'{"at":"2026-01-01T00:00:00Z"}', b'{"at":"2026-01-01T00:00:00Z","label":"\xff"}']
)
def test_a_damaged_key_is_left_out(here: Here, folder: Path, state: bytes) -> None:
    async def fill() -> None:
        async with on_folder(folder) as service:
            await service.search(await service.new_key(), brand=FOUND)
            await service.new_key()

    asyncio.run(fill())
    with closing(sqlite3.connect(folder / "log.db", isolation_level=None)) as log:
        newest = "SELECT max(rowid) FROM stored_events WHERE topic = 'key.issued.v1'"
        log.execute(f"UPDATE stored_events SET state = ? WHERE rowid = ({newest})", (state,))

    found = here("report", "--json", "--since=2025-01-01", f"--data-dir={folder}").rows[0]

    assert found["left_out"] == {"damaged": 1}
    assert found["figures"]["summary"][0]["searches_answered"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--since", "yesterday"], "Invalid value for --since: a time is written"),
        (
            ["--since", "2026-03-02", "--until", "2026-03-01"],
            "--since: a time before 2026-03-01",
        ),
        (["--since", "0001-01-01"], "--since: a time from 1971 on"),
        (["--json", "--html", "x.html"], "--json and --html: one of them"),
    ],
)
def test_a_mistake_is_reported(
    here: Here, folder: Path, words: list[str], message: str
) -> None:
    assert here("report", *words, f"--data-dir={folder}").error(2).startswith(message)


def test_its_tables_are_private_hold_no_name_and_are_removed(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    left, used = temporary / "cs-report-killed", temporary / "cs-report-running"
    for each in (left, used):
        each.mkdir(parents=True)
        (each / "gathered.duckdb").touch(0o600)
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    seen: list[tuple[int, bytes]] = []
    run = figures._rows

    def watched(*arguments: Any) -> figures.Rows:
        there = [file for file in temporary.rglob("*") if file.is_file()]
        seen.extend((file.stat().st_mode & 0o777, file.read_bytes()) for file in there)
        return run(*arguments)

    monkeypatch.setattr(figures, "_rows", watched)

    assert data.cs("report").code == 0

    assert {mode for mode, _ in seen} == {0o600}
    assert any(b"brand-" in content for _, content in seen)
    for personal in (b"Ada", b"Kern", b"ada.kern", b"linkedin.com/in"):
        assert not any(personal in content for _, content in seen)
    assert list(temporary.iterdir()) == [used], "what a killed report left is removed too"
    os.close(lock)


def test_a_file_that_is_there_is_left_alone(here: Here, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")

    message = here("report", "--html", str(file), f"--data-dir={folder}").error(2)

    assert message.endswith(f'"{file}" already exists')
    assert file.read_text() == "mine"
    page = tmp_path / "none" / "page.html"
    message = here("report", "--html", str(page), f"--data-dir={folder}").error(2)
    assert message.endswith(f"{page} cannot be written: there is no folder {page.parent}")


def test_an_empty_period_is_reported(here: Here, folder: Path) -> None:
    shown = here("report", "--since=2020-01-01", "--until=2020-01-02", f"--data-dir={folder}")

    assert shown.code == 0
    assert shown.out.count("Nothing in this period.") > 10
    assert "2020-01-01 until 2020-01-02, UTC" in shown.out
