"""The cap of all paid services together: a search at it, and what `cs status` makes of it."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from cli.command import Here
from cs.paid_calls.budgets import SpentOfDay, TotalCaps
from cs.paid_calls.forecast import forecast
from harness.served import Served

CAPS = {"CS_USD_PER_DAY": "0.02", "CS_USD_PER_MONTH": "5"}
#: The middle of a month of 30 days.
NOON = datetime(2026, 4, 15, 12, tzinfo=UTC)


# A service in a process of its own, with the providers of its world.
@pytest.mark.slow
def test_at_the_cap_a_search_goes_on_without_the_paid_and_the_status_counts_the_rows(
    here: Here, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    with Served(folder, ("--providers",), CAPS) as service:
        with service.client(service.new_key()) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        page = httpx.get(f"{service.admin_url}/metrics", trust_env=False).text
        (status,) = here("status", "--json", f"--data-dir={folder}", **CAPS).rows
        shown = here("status", f"--data-dir={folder}", **CAPS, width=300).out
        (beside,) = here(
            *("status", "--json", f"--data-dir={folder}"),
            CS_STAGES_POSTGRES="postgresql://u@127.0.0.1/cs?sslmode=wrong",
        ).rows
    with closing(sqlite3.connect(folder / "spending.db")) as rows:
        days = rows.execute("SELECT DISTINCT day FROM spending").fetchall()
        (micros,) = rows.execute("SELECT sum(micros) FROM spending").fetchone()

    assert (found["status"], len(days)) == ("done", 1)
    assert 0 < micros <= 20_000
    assert status["sources"]["hunter"]["last"] == "over_budget"
    assert status["sources"]["hunter"]["why"] == (
        "usd_per_day of all services together does not allow another call: "
        f"${micros / 1_000_000:.2f} are spent"
    )
    assert beside["events"] == status["events"]
    assert beside["spending"]["why"].startswith("not known: stages_postgres: ")
    spending = status["spending"]
    assert spending["usd_today"] == spending["usd_this_month"] == micros / 1_000_000
    assert spending["usd_a_day"] == micros / 1_000_000, "less than a day ago it began"
    assert (spending["usd_per_day"], spending["usd_per_month"]) == (0.02, 5)
    assert f"${micros / 1_000_000:.2f} today" in shown
    assert "caps $0.02 a day and $5.00 a month: usd_per_day is reached\n" in shown
    assert 'cs_spending_total_cap_usd{period="day"} 0.02' in page
    left = re.search(r'^cs_spending_total_left_usd\{period="day"\} (.*)$', page, re.MULTILINE)
    assert left is not None
    assert float(left[1]) == pytest.approx((20_000 - micros) / 1_000_000)


def test_a_forecast_is_the_pace_of_the_last_week_until_the_month_ends() -> None:
    spent = {NOON.date() - timedelta(days=n): SpentOfDay(1_000_000) for n in range(1, 31)}
    spent[NOON.date() - timedelta(days=1)] = SpentOfDay(1_500_000)
    pace = (6 + 0.5) / 6.5  # six whole days and none of today, in 6.5 days
    found = forecast(NOON.timestamp(), spent, TotalCaps())

    assert (found.usd_today, found.usd_this_month) == (0, 14.5)
    assert found.usd_a_day == pytest.approx(pace)
    assert found.usd_at_month_end == pytest.approx(14.5 + 15.5 * pace)
    assert (found.cap_reached, found.cap_reached_at) == (None, None)


@pytest.mark.parametrize(
    ("per_day", "per_month", "cap", "after_days"),
    [
        (None, 14.5, "month", 0),  # reached
        (None, 14.509999, "month", 0),  # a call costs a cent
        (None, 16.5, "month", 2),
        (None, 31, None, None),  # the month ends before
        (0.25, 16.5, "day", 0.25),
        (0.75, None, "day", 0.5 + 0.75),  # not today, which is half over; tomorrow
        (1.5, None, None, None),
        (0, 0, "day", 0),
    ],
)
def test_the_cap_that_is_reached_first_is_named_with_its_time(
    per_day: float | None, per_month: float | None, cap: str | None, after_days: float | None
) -> None:
    today = NOON.date()
    spent = {today - timedelta(days=n): SpentOfDay(1_000_000, 10_000) for n in range(1, 15)}
    spent[today] = SpentOfDay(0)
    spent[today - timedelta(days=1)] = SpentOfDay(1_500_000)  # with it a dollar a day
    micros = [
        None if each is None else round(each * 1_000_000) for each in (per_day, per_month)
    ]
    found = forecast(
        NOON.timestamp(), spent, TotalCaps(micros_per_day=micros[0], micros_per_month=micros[1])
    )

    assert found.usd_a_day == 1
    assert found.cap_reached == cap
    at = None if after_days is None else NOON + timedelta(days=after_days)
    assert found.cap_reached_at == at


def test_a_service_that_was_never_paid_has_no_pace() -> None:
    found = forecast(NOON.timestamp(), dict[date, SpentOfDay](), TotalCaps(micros_per_day=1))

    assert (found.usd_a_day, found.usd_at_month_end, found.cap_reached) == (0, 0, None)
