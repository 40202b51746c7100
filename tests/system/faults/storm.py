"""Kills the service at random moments while clients go on calling, and counts the damage.

``python -m system.faults.storm --kills 200`` in the folder ``tests``, or ``make faults``.
The moments and what is asked for follow from the seed; what happens between them does not.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cli.command import ran
from cs.cli.output import console, errors
from cs.eventlog.port import LogUnavailable
from system.faults.caller import Caller, Notebook, final, http_client
from system.faults.crashing_service import CrashingService, forget, new_keys
from system.faults.lasting_world import WorldClock, lasting_world
from system.faults.promises import FinalState
from system.faults.results import Report, client_results
from system.faults.world import Wish, make_world, wishes

#: A share of the deaths comes while the service starts, within this; seconds.
_AT_START, _BIRTH_S = 0.25, 0.4
#: Others come after a life of this mean, cut at the most.
_LIFE_S, _LONGEST_S = 0.9, 4.0
#: How often a client wants one of a few brands that all want, and holds the call.
_FAVOURITE, _WAIT = 0.3, 0.5
#: Kills after which a storm reports progress, and greylists have forgotten every client.
_REPORT_EVERY = 20
#: What clients may take to end, once the service lives.
_END_S = 180.0
#: Of the quotas, the last is soon used up.
_QUOTAS = (60, 60, 60, 4)


class Plan(msgspec.Struct, frozen=True):
    seed: int
    kills: int
    keys: int = 12
    callers_per_key: int = 2
    brands: int = 64
    most_s: float = 900.0  # no kill after this


@dataclass
class Deaths:
    """How the service ended, time after time."""

    kills: int = 0
    at_start: int = 0
    fell: list[str] = field(default_factory=list)  # by itself


async def storm(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Report:
    """Run *plan* in *folder*, which is empty."""
    began = time.monotonic()
    service = CrashingService(folder / "data", make_world(folder / "world.json", plan.brands))
    clock = WorldClock()
    try:
        async with lasting_world(service.world, folder, clock) as service.addresses:
            notes, end, deaths = await _storm(plan, service, clock, tell)
            left = await service.stop()
    finally:
        service.kill()
    verified = await asyncio.to_thread(
        ran, "log", "verify", "--at-rest", f"--data-dir={service.folder}"
    )
    if left != 0:
        deaths.fell.append(f"it left with {left}: {''.join(service.lines[-20:])}")
    assert verified.code == 0 or "violation" in verified.out, verified
    clients = client_results(notes, end)
    facts = vars(deaths) | {"seconds": round(time.monotonic() - began, 1)} | clients.facts
    log = [] if verified.code == 0 else [verified.out.strip()]
    return Report(facts, [*clients.faults, *deaths.fell, *log])


async def _storm(
    plan: Plan, service: CrashingService, clock: WorldClock, tell: Callable[[str], None]
) -> tuple[Notebook, FinalState, Deaths]:
    """Kill *service* as *plan* says; return what clients were answered, and the final state."""
    chance = random.Random(-plan.seed)
    wanted = wishes(service.world)
    quotas = [_QUOTAS[number % len(_QUOTAS)] for number in range(plan.keys)]
    keys = await new_keys(service.folder, quotas)
    notes, over = Notebook(), asyncio.Event()
    async with http_client() as http:
        callers = [
            Caller(service, key, notes, http, random.Random(chance.getrandbits(64)))
            for key in keys
            for _ in range(plan.callers_per_key)
        ]
        with suppress(TimeoutError):  # a wish without an answer by then is counted
            async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as tasks:
                for caller in callers:
                    tasks.create_task(_call(caller, wanted, over))
                tasks.create_task(_forget(service, wanted, chance, over))
                deaths = await _die(service, plan, clock, tell)
                over.set()
                await service.start()
                limit.reschedule(asyncio.get_running_loop().time() + _END_S)
        tell("everything that clients know of is read again")
        return notes, await final(callers[:: plan.callers_per_key]), deaths


async def _die(
    service: CrashingService, plan: Plan, clock: WorldClock, tell: Callable[[str], None]
) -> Deaths:
    """Start and kill *service* as *plan* says; return once it is dead for the last time."""
    deaths, chance = Deaths(), random.Random(plan.seed)
    give_up = time.monotonic() + plan.most_s
    while deaths.kills < plan.kills and time.monotonic() < give_up:
        from_birth = chance.random() < _AT_START
        life_s = (
            chance.uniform(0, _BIRTH_S)
            if from_birth
            else min(chance.expovariate(1 / _LIFE_S), _LONGEST_S)
        )
        code = await service.live(life_s, from_birth=from_birth)
        if code == -signal.SIGKILL:
            deaths.kills += 1
            deaths.at_start += from_birth
        else:
            deaths.fell.append(f"exit code {code}: {''.join(service.lines[-3:])}")
        if deaths.kills % _REPORT_EVERY == 0:
            clock.forget()  # or greylists would be met by the first searches only
            tell(f"{deaths.kills} of {plan.kills} kills")
    return deaths


async def _call(caller: Caller, wanted: Sequence[Wish], over: asyncio.Event) -> None:
    """Ask for one wish after the other, some of them again and again, until all is over."""
    chance = caller.chance
    favourites = wanted[: len(wanted) // 8]
    while not over.is_set():
        wish = chance.choice(favourites if chance.random() < _FAVOURITE else wanted)
        if await caller.want(wish, wait=chance.random() < _WAIT) is None:
            return  # no quota is left


async def _forget(
    service: CrashingService, wanted: Sequence[Wish], chance: random.Random, over: asyncio.Event
) -> None:
    """Forget a brand now and then, so that searches for it are live again."""
    while not over.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), chance.uniform(1, 4))
        with suppress(LogUnavailable):
            await forget(service.folder, chance.choice(wanted).body)


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill the service at random moments.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-s", type=float, default=900.0, help="no kill after this")
    chosen = parser.parse_args()
    plan = Plan(seed=chosen.seed, kills=chosen.kills, most_s=chosen.most_s)
    with tempfile.TemporaryDirectory(prefix="cs-storm-") as folder:
        report = asyncio.run(storm(plan, Path(folder), errors.print))
    console.print(str(report), markup=False)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
