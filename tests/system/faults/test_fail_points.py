"""The service dies at each point between two steps; the next one ends every search right."""

import asyncio
import random
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cli.command import ran
from system.faults.caller import Caller, Notebook, final, http_client
from system.faults.crashing_service import CrashingService, new_keys
from system.faults.lasting_world import WorldClock, lasting_world
from system.faults.promises import as_intended, check
from system.faults.world import make_world, wishes

pytestmark = pytest.mark.slow

#: At which visits to a point the service dies: the first, or one that comes after the start's
#: own; at one point in the first stage and in the last.
VISITS = {
    "change.before-append": (5,),
    "change.after-append": (5,),
    "log.before-write": (6,),
    "log.before-commit": (2,),
    "log.after-commit": (2,),
    "log.before-answer": (6,),
    "relay.after-publish": (4,),
    "stage.before-result": (1, 7),
    "stage.after-result": (4,),
    "outcome.before-append": (5,),
    "projection.before-apply": (4,),
    "settlement.before-append": (2,),
}
#: What has to happen before a start comes to the point.
DIED_BEFORE = {
    "sweep.before-restart": "stage.before-result=kill@3",
    "sweep.after-restart": "stage.before-result=kill@3",
    "sweep.before-settlement": "settlement.before-append=kill",
}
#: Every point that the code names.
POINTS = sorted(
    {
        point
        for file in (Path(__file__).parents[3] / "src").rglob("*.py")
        for point in re.findall(r"(?m)^ +failpoints\.reach\(\s*\"([^\"]+)\"", file.read_text())
    }
)
CASES = [(point, visit) for point in POINTS for visit in VISITS.get(point, (1,))]
HUNG_S = 60


@pytest.mark.parametrize(("point", "visit"), CASES, ids=str)
async def test_a_death_at_any_point_costs_nothing(
    tmp_path: Path, point: str, visit: int
) -> None:
    service = CrashingService(tmp_path / "data", make_world(tmp_path / "world.json", 4))
    done, _, _, two, _, _, greylisted, _, _, no_person, _, _ = wishes(service.world)
    other = greylisted if point.startswith("timer.") else two  # which takes seconds less
    keys = await new_keys(service.folder, [2, 2])
    notes, chance = Notebook(), random.Random(visit)
    async with (
        lasting_world(service.world, tmp_path, WorldClock()) as service.addresses,
        http_client() as http,
        asyncio.timeout(HUNG_S),
        AsyncExitStack() as after,
    ):
        after.callback(service.kill)
        ann, bob = (Caller(service, key, notes, http, chance) for key in keys)
        fatal = f"{point}=kill@{visit}"
        await service.start(DIED_BEFORE.get(point, fatal))
        async with asyncio.TaskGroup() as calls:
            wanted = [
                calls.create_task(ann.want(done, wait=False)),
                calls.create_task(ann.want(other, wait=True)),
                calls.create_task(bob.want(done, wait=True)),
                calls.create_task(bob.want(no_person, wait=False)),
            ]
            if point in DIED_BEFORE:
                assert await service.wait() == -9
                await service.start(fatal)
            assert await service.wait() == -9
            assert service.lines[-1] == f"failpoint {point} hit\n"
            await service.start()
        end = await final([ann, bob])
        left = await service.stop()
    words = ("log", "verify", "--at-rest", f"--data-dir={service.folder}")
    verified = await asyncio.to_thread(ran, *words)

    assert list(check(notes.answers, notes.requests, end)) == []
    for call, one in zip(wanted, notes.requests, strict=True):
        record = call.result()
        assert record is not None, one
        assert as_intended(one.wish, record), (one, record)
    assert [end.usage[key.id]["used"] for key in keys] == [2, 1]
    assert (left, verified.code) == (0, 0), verified


# Where they act.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=kill", "there is no point 'x'; there are "),
        ("relay.after-publish", "'relay.after-publish' is not like relay.after-publish=kill@3"),
        ("relay.after-publish=sleep", "is not like"),
        ("relay.after-publish=kill@0", "is not like"),
        ("relay.after-publish=kill,", "'' is not like"),
    ],
)
def test_a_setting_that_names_no_point_or_action_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    ended = ran("serve", "--sandbox", f"--data-dir={tmp_path}", CS_FAILPOINTS=text)

    assert "CS_FAILPOINTS: " in ended.error(2)
    assert message in ended.error(2)
    _, _, there = ended.error(2).partition("; there are ")
    assert not there or sorted(there.split(", ")) == POINTS, "those that the code reaches"


def test_a_live_service_refuses_fail_points(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    ended = ran("serve", f"--data-dir={folder}", CS_FAILPOINTS="relay.after-publish=kill")

    assert "CS_FAILPOINTS" in ended.error(2)
    assert "--sandbox" in ended.error(2)
    assert not folder.exists()
