"""What every memory of the heartbeats of stages does."""

from typing import Any

import pytest

from harness.places import Place, heartbeats_in, kinds

WORK = ("brand-a.1", "verification", "a.test")


kind = kinds("memory", "postgres")


@pytest.fixture
def heartbeats(kind: str, place: Place) -> Any:
    return heartbeats_in(None if kind == "memory" else place)  # type: ignore[arg-type]


async def test_work_is_silent_since_its_last_heartbeat(heartbeats: Any) -> None:
    assert await heartbeats.silent_for(*WORK, 1) is None
    await heartbeats.record(*WORK, 1)

    silent_for = await heartbeats.silent_for(*WORK, 1)

    assert silent_for is not None
    assert 0 <= silent_for < 5


async def test_a_heartbeat_is_of_one_attempt_at_one_piece_of_work(heartbeats: Any) -> None:
    await heartbeats.record(*WORK, 1)

    lookup, stage, item = WORK
    for work in (
        (lookup, stage, item, 2),
        (lookup, stage, "b.test", 1),
        (lookup, "ranking", item, 1),
        ("brand-a.2", stage, item, 1),
    ):
        assert await heartbeats.silent_for(*work) is None


# In a database.


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.slow)])
async def test_what_one_process_heard_another_knows_until_the_database_is_away(
    place: Any,
) -> None:
    recorder, driver = heartbeats_in(place), heartbeats_in(place)
    await recorder.record(*WORK, 1)
    assert await driver.silent_for(*WORK, 1) is not None

    for lost in (("brand-a.1", "ranking", "", 3_000_000_000), ("a", "ranking", "a\0b", 1)):
        await recorder.record(*lost)
    assert await driver.silent_for("brand-a.1", "ranking", "", 3_000_000_000) is None
    place.terminate()

    await recorder.record(*WORK, 2)
    assert await recorder.silent_for(*WORK, 1) is None, "lost, and nothing else is"
