"""The numbers that docs/architecture.md states are those of the code."""

import re
from pathlib import Path

import pytest

from cs.api.keys import MAX_KEYS, READ_THROUGH_PER_S
from cs.api.long_polls import MAX_LONG_POLLS
from cs.domain.brand.events import DEADLINE
from cs.domain.lookup.contacts import PEOPLE
from cs.domain.lookup.rules import MAIL_DOMAINS, SILENT_REISSUES
from cs.domain.stages.table import STAGES
from cs.eventlog import recent, snapshots, table_log
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.sqlite import POLL_S
from cs.pipeline import outcomes
from cs.pipeline.heartbeats import SILENCE_S
from cs.pipeline.runner import HEARTBEAT_EVERY_S, MAX_IN_FLIGHT
from cs.postgres.lease import EVERY_S, LASTS_S
from cs.projections.key_secrets import AHEAD, PATIENCE_S

PAGE = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
BUDGETS = [f"{row.budget.total_seconds():g}" for row in STAGES.values()]


@pytest.mark.parametrize(
    "stated",
    [
        f"up to {table_log.BATCH}, and writes them in one transaction",
        f"At most {table_log.WAITING:,} wait",
        f"the newest {recent.MAX_EVENTS:,} events from memory",
        f"are looked for every {POLL_S:g} s",
        f"{CATEGORIES['key'].cached:,} of each category, {CATEGORIES['person'].cached:,} of",
        f"is written down every {snapshots.EVERY} events",
        f"at most {MAX_IN_FLIGHT} pieces of work in flight",
        f"a heartbeat every {HEARTBEAT_EVERY_S:g} s",
        f"At most {PEOPLE} people and {MAIL_DOMAINS} mail domains a lookup",
        f"{outcomes.AT_ONCE} at once; those of one lookup queue",
        f"**Deadline**: {DEADLINE.total_seconds():g} s from the start",
        "{} s resolution, {} s discovery, {} s ranking, {} s verification".format(*BUDGETS),
        f"**Silence**: {SILENCE_S:g} s without a sign of life",
        f"waits up to {PATIENCE_S:g} s",
        f"up to {AHEAD:,} events",
        f"At most {MAX_LONG_POLLS:,} are held",
        f"the {MAX_KEYS:,} keys used last",
        f"at most {READ_THROUGH_PER_S} times a second",
        f"lasts {LASTS_S:g} s and is renewed every {EVERY_S:g} s",
    ],
)
def test_a_number_is_that_of_the_code(stated: str) -> None:
    assert stated in PAGE


def test_silent_work_is_issued_again_as_often_as_the_page_says() -> None:
    assert SILENT_REISSUES == 2
    assert re.search(r"the work is issued again, at most twice", PAGE)
