"""When which role dies: at random, and at every fail point that roles reach."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.storm_roles import BEFORE, Keeper, reached_by

#: A role dies at one of the first visits to its point; later on at the very first.
_VISITS = 3
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
        each = len(self.keeper.cluster.of("api"))
        # To arm a point takes a kill of each role of the kind, and somebody dies there.
        at_random = max(0, self.kills - (each + 1) * len(self.points))
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
        if point is None:
            self._at_random()
        elif not self.keeper.hit[point]:
            self._at(point, visit)
        await asyncio.sleep(self.every_s * self.chance.uniform(0.5, 1.5))

    def _at_random(self) -> None:
        running = [name for name, role in self.keeper.cluster.roles.items() if role.runs]
        if running:
            self.keeper.kill(self.chance.choice(running))

    def _at(self, point: str, visit: int) -> None:
        """Have every role of a kind that reaches *point* die there."""
        points = [(BEFORE[point], 1)] if point in BEFORE else []
        kind = self.chance.choice(reached_by(point))
        for role in self.keeper.cluster.of(kind):
            self.keeper.kill(role.name, [*points, (point, 1 if points else visit)])


async def kept_running(keeper: Keeper) -> None:
    """Start whoever ended again, for ever."""
    while True:
        keeper.look()
        await asyncio.sleep(_LOOK_S)
