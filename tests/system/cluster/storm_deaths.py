"""When which role dies: at random, and at every fail point that roles reach."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from system.cluster.storm_roles import BEFORE, Keeper, reached_by

#: A role dies at one of the first visits to its point; later on at the very first.
_VISITS = 3
_KILLS_PER_POINT = 3
#: Kinds of which one leads; the others wait.
LED = frozenset({"relay", "process-manager", "project"})
#: Between two looks at who has ended.
_LOOK_S = 0.1


@dataclass
class Deaths:
    """Kills until there were *kills* and a role died at each of *points*, or *until*."""

    keeper: Keeper
    kills: int
    points: Sequence[str]
    every_s: float  # between two deaths
    until: float  # of `time.monotonic`
    chance: random.Random

    async def come(self) -> None:
        # To arm a point takes a kill, or two, and somebody dies there.
        at_random = max(0, self.kills - _KILLS_PER_POINT * len(self.points))
        steps: list[str | None] = [*self.points, *[None] * at_random]
        self.chance.shuffle(steps)
        for step in steps:
            await self._next(step, self.chance.randint(1, _VISITS))
        while not self._over and (self.missing or self._killed < self.kills):
            step = self.chance.choice(self.missing) if self.missing else None
            await self._next(step, 1)

    @property
    def missing(self) -> list[str]:
        """Points at which nobody has died so far."""
        return [point for point in self.points if not self.keeper.hit[point]]

    @property
    def _killed(self) -> int:
        return self.keeper.kills.total()

    @property
    def _over(self) -> bool:
        return time.monotonic() >= self.until

    async def _next(self, point: str | None, visit: int) -> None:
        if self._over:
            return
        if point is None or self.keeper.hit[point] or self.keeper.awaits(point):
            await self._die(self._anyone())
        else:
            await self._at(point, visit)

    def _anyone(self) -> str | None:
        running = [name for name, role in self.keeper.cluster.roles.items() if role.runs]
        return self.chance.choice(running) if running else None

    async def _at(self, point: str, visit: int) -> None:
        """Have a role of a kind that reaches *point* die there.

        Where one leads, all of them are killed in turn: whoever leads next dies there.
        """
        kind = self.chance.choice(reached_by(point))
        named = [role.name for role in self.keeper.cluster.of(kind)]
        self.chance.shuffle(named)
        before = [(BEFORE[point], 1)] if point in BEFORE else []
        for name in named if kind in LED else named[:1]:
            if not self.keeper.hit[point]:
                self.keeper.arm(name, [*before, (point, 1 if before else visit)])
                await self._die(name)

    async def _die(self, name: str | None) -> None:
        if name is not None:
            self.keeper.kill(name)
        await asyncio.sleep(self.every_s * self.chance.uniform(0.5, 1.5))


async def kept_running(keeper: Keeper) -> None:
    """Start whoever ended again, for ever."""
    while True:
        keeper.look()
        await asyncio.sleep(_LOOK_S)
