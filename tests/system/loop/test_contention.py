"""Many calls at once: whatever races, exactly as many are let in as the limits allow.

Two API nodes on one log: within a node writers of a key queue, between nodes the expected
versions decide.  No stage runs, so what starts stays live.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cs.domain.brand.events import LookupStarted
from cs.domain.key import IN_FLIGHT, SearchAdmitted, SearchRepeated
from cs.domain.rate_limits import PER_MINUTE
from system.loop.nodes import Nodes

pytestmark = pytest.mark.slow

CALLERS = 64


class Race(NamedTuple):
    """Calls made at once, and how many of each answer and event there have to be."""

    answers: Mapping[str, int]  # by status and, of an error, its code
    admitted: int
    repeated: int = 0
    started: int = 1
    keys: int = 1  # that take turns
    quota: int = 100
    calls: int = CALLERS
    same_brand: bool = True
    ceiling: int | None = None
    headers: Mapping[str, str] = {}


def at_the_ceiling(ceiling: int) -> Race:
    left = {"503 at_capacity": CALLERS - ceiling}
    return Race(
        answers=left | ({"202": ceiling} if ceiling else {}),
        admitted=ceiling,
        started=ceiling,
        keys=CALLERS,
        same_brand=False,
        ceiling=ceiling,
    )


RACES = {
    "a key has as many lookups in flight as it may": Race(
        answers={"202": IN_FLIGHT, "429 too_many_in_flight": CALLERS - IN_FLIGHT},
        admitted=IN_FLIGHT,
        started=IN_FLIGHT,
        same_brand=False,
    ),
    "a key is admitted as often as its minute allows": Race(
        answers={"202": PER_MINUTE, "429 rate_limited": CALLERS - PER_MINUTE},
        admitted=1,
        repeated=PER_MINUTE - 1,
    ),
    "the last unit of quota is reserved once": Race(
        answers={"202": 1, "429 too_many_in_flight": CALLERS - 1},
        admitted=1,
        quota=1,
        same_brand=False,
    ),
    "an idempotency key is one search": Race(
        answers={"202": CALLERS}, admitted=1, headers={"Idempotency-Key": "once"}
    ),
    "400 keys share one lookup of a new brand": Race(
        answers={"202": 400}, admitted=400, keys=400, calls=400
    ),
    **{f"a ceiling of {n} starts {n} lookups": at_the_ceiling(n) for n in (0, 7)},
}


@pytest.mark.parametrize("race", RACES.values(), ids=list(RACES))
async def test_as_many_calls_are_let_in_as_the_limits_allow(tmp_path: Path, race: Race) -> None:
    async with Nodes(tmp_path / "log.db").running(race.ceiling) as nodes:
        keys = cycle(await nodes.keys(race.keys, race.quota))
        brands = ["Acme" if race.same_brand else f"Brand {n}" for n in range(race.calls)]

        answers = await nodes.ask(zip(keys, brands, strict=False), race.headers)

        assert race.answers == Counter(
            str(answer.status_code)
            if answer.is_success
            else f"{answer.status_code} {answer.json()['error']['code']}"
            for answer in answers
        )
        admitted: list[Any] = [e.event for e in await nodes.events(SearchAdmitted)]
        assert len(admitted) == race.admitted
        assert len(await nodes.events(SearchRepeated)) == race.repeated
        started: list[Any] = [e.event for e in await nodes.events(LookupStarted)]
        assert len(started) == race.started
        assert {e.lookup for e in started} == {e.lookup for e in admitted}
        searches = {answer.json()["id"] for answer in answers if answer.is_success}
        assert searches == {e.search for e in admitted}


async def test_searches_that_join_a_lookup_write_nothing_to_the_brands_stream(
    tmp_path: Path,
) -> None:
    async with Nodes(tmp_path / "log.db").running(None) as nodes:
        first, *others = await nodes.keys(CALLERS)
        await nodes.ask([(first, "Acme")], {})
        (started,) = await nodes.events(LookupStarted)

        answers = await nodes.ask(((key, "Acme") for key in others), {})

        assert {answer.status_code for answer in answers} == {202}
        events = await nodes.events(object)
        assert max(e.version for e in events if e.stream == started.stream) == 1
