"""`cs report` on the data that a real service left, in a folder and in databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here, Ran
from cs.domain.key import SearchSettled
from cs.history.report.period import Period
from harness.outside import tools
from history.report.naive import Naive
from system.older_keys.forms import Form, form_of

FOUND, NOBODY = "Acme", "Nobody's <brand>"
EVER = Period(datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


class Data:
    """The data of a service that answered some searches, and what its log says."""

    def __init__(self, form: Form, here: Here) -> None:
        self.form = form
        self._here = here
        self.naive = Naive((), EVER)

    async def fill(self) -> None:
        async with self.form.service(tools()) as service:
            key = await service.new_key()
            for brand in (FOUND, NOBODY, FOUND, FOUND.lower()):
                answer = await service.search(key, brand=brand)
                assert answer.status_code == 200, answer.text
            self.naive = Naive(await service.running.streams.log.tail(0, 1_000_000), EVER)

    def cs(self, *words: str) -> Ran:
        chosen = self.form.settings
        where = {"CS_DATA_DIR": str(chosen.data_dir)}
        if chosen.postgres is not None:
            where |= {
                "CS_POSTGRES": chosen.postgres,
                "CS_KEYS_POSTGRES": str(chosen.keys_postgres),
                "CS_MASTER_KEY_FILE": str(chosen.master_key_file),
            }
        return self._here(*words, width=200, **where)


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

    settled: list[SearchSettled] = data.naive.settled()
    assert found["searches"]["answered"] == len(settled) == 4
    assert found["searches"]["charged"] == sum(each.charged for each in settled) == 3
    assert found["searches"]["reused"] == sum(each.cached for each in settled) == 2
    assert found["runs"]["emails"] == sum(each.verified for each in data.naive.finished())
    assert found["mail"]["people_checked"] == len(data.naive.checks())
    assert [each["label"] for each in found["busiest"]["keys"]] == ["test"]
    assert found["left_out"] == {}
    assert "Searches answered" in shown.out
    assert "nobody's <brand>" in shown.out.lower()
    assert written.out == f"written to {page}\n"
    assert page.stat().st_mode & 0o777 == 0o600
    html = page.read_text()
    assert "nobody&#x27;s &lt;brand&gt;" in html.lower()
    for personal in ("Ada", "Kern", "ada.kern", "linkedin.com/in"):
        assert personal not in shown.out
        assert personal not in html


def test_a_price_makes_costs(data: Data) -> None:
    found = data.cs("report", "--json").rows[0]
    (name,) = {each["source"] for each in found["people_sources"] if each["answered"]}

    priced = data.cs("report", "--json", f"--price={name}=0.25", "--price=nobody=1")

    (source,) = (each for each in priced.rows[0]["people_sources"] if each["source"] == name)
    assert source["cost"]["total"] == f"{source['answered'] * 0.25:.2f}"
    assert all(each["cost"] is None for each in found["people_sources"])
    assert "nobody was not asked in this period" in priced.err
    assert priced.code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--since", "yesterday"], "--since: a time such as 2026-03-01"),
        (
            ["--since", "2026-03-02", "--until", "2026-03-01"],
            "--since: a time before 2026-03-01",
        ),
        (["--since", "0001-01-01"], "--since: a time from 1971 on"),
        (["--json", "--html", "x.html"], "--json and --html: one of them"),
        (["--top", "0"], "--top: a whole number from 1 to 1000, not 0"),
        (["--price", "smtp"], "--price: a name and an amount such as searxng=0.005"),
        (["--price", "smtp=NaN"], "--price: a name and an amount such as searxng=0.005"),
    ],
)
def test_a_mistake_is_told(here: Here, folder: Path, words: list[str], told: str) -> None:
    assert here("report", *words, f"--data-dir={folder}").told(2).startswith(told)


def test_a_file_that_is_there_is_left_alone(here: Here, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")

    told = here("report", "--html", str(file), f"--data-dir={folder}").told(2)

    assert told == f"{file} is there already: name another file"
    assert file.read_text() == "mine"


def test_an_empty_period_is_told(here: Here, folder: Path) -> None:
    shown = here("report", "--since=2020-01-01", "--until=2020-01-02", f"--data-dir={folder}")

    assert shown.code == 0
    assert "No result was reused in this period." in shown.out
    assert "2020-01-01 until 2020-01-02, UTC" in shown.out
