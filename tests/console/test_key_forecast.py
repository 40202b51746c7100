"""When a key runs out: from what it was charged in the last 90 days."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from cs.domain.causation import StartCause
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchSettled
from harness.in_process import in_memory
from harness.outside import tools

LOOKUP = "brand-1.1-x"


@pytest.mark.parametrize(
    ("days_ago", "a_day", "runs_out_in"),
    [
        (40, "0.05", r"20\d(\.\d)? d, on \d{4}-\d\d-\d\d"),
        (100, "0.00", "nothing charged in 90 days"),
    ],
)
async def test_a_key_that_rests_for_weeks_still_has_a_forecast(
    days_ago: int, a_day: str, runs_out_in: str
) -> None:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight - timedelta(days=days_ago)
    events: list[SearchAdmitted | SearchSettled] = []
    for number in range(2):
        search = f"s{number}"
        events += [
            SearchAdmitted(
                search=search, brand="Acme", query=Query("Acme"), lookup=LOOKUP, at=at
            ),
            SearchSettled(
                search=search, lookup=LOOKUP, outcome="done", charged=True, cached=False, at=at
            ),
        ]
    async with in_memory(tools(), console=True) as service:
        key = await service.operator.create_key("rests", 12)
        change = service.running.streams.change
        await change(f"key-{key.id}", lambda _: events, caused_by=StartCause())
        async with service.console() as client:
            page = (await client.get(f"/keys/{key.id}")).text

    facts = dict(re.findall(r"<dt>([^<]+)</dt>\s*<dd>([^<]+)</dd>", page))
    assert facts["Charged a day"] == a_day
    # 10 are left of 12, and 2 took 40 days and what has passed of this one.
    assert re.fullmatch(runs_out_in, facts["Runs out in"])
