"""Many calls at one moment over two nodes: each limit holds to the unit."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from cluster.cluster import Cluster
from cluster.racing import RACERS, Race, expected, racing, running_nodes
from servers.fixtures import or_skipped

pytestmark = pytest.mark.slow

#: `bench/cluster_races.py` runs a thousand of each.
ROUNDS = 100
FEWER = 30


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with or_skipped(running_nodes()) as cluster:
        yield cluster


@pytest.fixture
async def race(nodes: Cluster) -> AsyncIterator[Race]:
    async with racing(nodes) as race:
        yield race


@pytest.mark.parametrize(
    ("run", "rounds"),
    [
        (Race.for_the_last_unit, ROUNDS),
        (Race.for_places_in_flight, FEWER),
        (Race.for_a_minute, FEWER),
        (Race.for_a_day, FEWER),
        (Race.for_the_ceiling, FEWER),
        (Race.for_checks, FEWER // 10),
    ],
)
async def test_no_limit_is_passed_by_a_race_and_none_is_missed(
    race: Race, run: Callable[[Race], Awaitable[Counter[str]]], rounds: int
) -> None:
    for number in range(rounds):
        assert await run(race) == expected(run.__name__), f"round {number}"


async def test_one_idempotency_key_sent_to_both_nodes_at_once_is_one_search(
    race: Race,
) -> None:
    for number in range(FEWER):
        answers = await race.for_one_idempotency_key()

        assert list(answers.values()) == [RACERS], f"round {number}: {answers}"
