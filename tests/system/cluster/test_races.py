"""Many calls at one moment over two nodes: each limit holds to the unit."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from system.cluster.cluster import Cluster
from system.cluster.racing import RACERS, Race, Round, expected, racing, rounds, running_nodes

pytestmark = pytest.mark.slow

ROUNDS = 100
#: Of 150 calls each.
OF_CHECKS = 10


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    with running_nodes() as cluster:
        yield cluster


@pytest.fixture
async def race(nodes: Cluster) -> AsyncIterator[Race]:
    async with racing(nodes) as race:
        yield race


@pytest.mark.parametrize(
    ("run", "number"),
    [
        (Race.for_the_last_unit, ROUNDS),
        (Race.for_places_in_flight, ROUNDS),
        (Race.for_a_minute, ROUNDS),
        (Race.for_a_day, ROUNDS),
        (Race.for_the_ceiling, ROUNDS),
        (Race.for_checks, OF_CHECKS),
    ],
)
async def test_no_limit_is_passed_by_a_race_and_none_is_missed(
    race: Race, run: Round, number: int
) -> None:
    came_to = await rounds(race, run, number)

    assert came_to == [expected(run.__name__)] * number


async def test_one_idempotency_key_sent_to_both_nodes_at_once_is_one_search(
    race: Race,
) -> None:
    came_to: list[Counter[str]] = await rounds(race, Race.for_one_idempotency_key, ROUNDS)

    assert [list(answers.values()) for answers in came_to] == [[RACERS]] * ROUNDS
