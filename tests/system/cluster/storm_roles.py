"""Kills roles of a cluster, at random and at every fail point that roles reach."""

import asyncio
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cs.domain.stages.table import OWN_STAGES
from cs.runtime import failpoints
from system.cluster.cluster import Cluster, end_in_words

#: How long a role stays dead.
AGAIN_S = 0.5
#: Interval at which ended roles are looked for.
_LOOK_S = 0.1
#: A role dies at one of the first visits to its point; later on at the very first.
_VISITS = 3
_KILLS_PER_POINT = 3
#: Kinds of which one process leads and the others wait.
_LED = frozenset({"relay", "process-manager", "project"})
#: Points that no role reaches: the embedded log alone has an open transaction between two
#: steps, and only an embedded start issues all open work again, since its bus forgets.
EMBEDDED_ONLY = frozenset({"log.before-commit", "sweep.before-restart", "sweep.after-restart"})
#: Every point that some role reaches.
POINTS = tuple(point for point in failpoints.POINTS if point not in EMBEDDED_ONLY)
#: Stages that report progress.
PROGRESS_OF = ("stage-contact-discovery", "stage-verification")
#: Kinds of role that reach a point, by what its name begins with.
_REACHED_BY = {
    "admission": ("api",),
    "log": ("api",),
    "relay": ("relay",),
    "stage": tuple(f"stage-{name}" for name in OWN_STAGES),
    "projection": ("project",),
    **dict.fromkeys(
        ("change", "outcome", "timer", "sweep", "settlement", "learning"), ("process-manager",)
    ),
}
#: Kinds of role that reach each point.
REACHED_BY = {
    point: PROGRESS_OF if point.endswith("-progress") else _REACHED_BY[point.partition(".")[0]]
    for point in POINTS
}
#: The point at which a role has to die so that the next to lead reaches the first one.
BEFORE = {"sweep.before-settlement": "settlement.before-append"}
_HIT = re.compile(rb"^failpoint (\S+) hit$", re.MULTILINE)


@dataclass
class Keeper:
    """Keeps the roles of *cluster* running, and the account of how they ended.

    Attributes:
        kills: Roles that ended by SIGKILL, ours or that of a fail point, by kind.
        hit: Fail points at which a role died.
        fell: Every other end: the role, how, and its last line.
    """

    cluster: Cluster
    tell: Callable[[str], None]
    kills: Counter[str] = field(default_factory=Counter)
    at_start: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    fell: list[str] = field(default_factory=list)
    _arms: dict[str, dict[str, int]] = field(default_factory=dict)  # by role: point, visit
    _killed: set[str] = field(default_factory=set)
    _due: dict[str, float] = field(default_factory=dict)
    _read: Counter[str] = field(default_factory=Counter)  # bytes of each log that were read

    def arm(self, name: str, points: Iterable[tuple[str, int]]) -> None:
        """Make *name* die at *points* too, by visit, in its next lives, once at each."""
        self._arms[name] = {**self._arms.get(name, {}), **dict(points)}

    def kill(self, name: str) -> None:
        """Kill the role *name*."""
        role = self.cluster.roles[name]
        if role.runs:
            self.at_start += not role.is_ready
            self._killed.add(name)
            role.kill()

    async def run(self) -> None:
        """Start ended roles again, for ever."""
        while True:
            self._look()
            await asyncio.sleep(_LOOK_S)

    def _look(self) -> None:
        for name, role in self.cluster.roles.items():
            if role.runs:
                continue
            if self._due.setdefault(name, time.monotonic() + AGAIN_S) <= time.monotonic():
                del self._due[name]
                self._note_end(name)
                self._start(name)

    def disarm(self) -> None:
        """Start roles without fail points from now on; those that run stay armed."""
        self._arms.clear()

    def awaits(self, point: str) -> bool:
        """Whether some role is to die at *point*."""
        return any(point in points for points in self._arms.values())

    def _start(self, name: str) -> None:
        role = self.cluster.roles[name]
        plain = {k: v for k, v in role.environment.items() if k != failpoints.VARIABLE}
        points = self._arms.get(name, {})
        text = ",".join(f"{point}=kill@{visit}" for point, visit in points.items())
        role.environment = plain | ({failpoints.VARIABLE: text} if text else {})
        role.start()

    def _lived_armed(self, name: str) -> bool:
        return failpoints.VARIABLE in self.cluster.roles[name].environment

    def _note_end(self, name: str) -> None:
        role = self.cluster.roles[name]
        with role.log.open("rb") as log:
            log.seek(self._read[name])
            new = log.read()
        self._read[name] += len(new)
        hits = [found.decode() for found in _HIT.findall(new)]
        if role.exit_code == -signal.SIGKILL and (hits or name in self._killed):
            self.kills[name.rpartition("-")[0]] += 1
        else:
            how = end_in_words(role.exit_code)
            self.fell.append(f"{name}: {how}: {role.last_line}")
            self.tell(self.fell[-1])
        self.hit.update(hits)
        self._killed.discard(name)
        # What it has not met is met at the first visit: it may die before a second one.
        left = [point for point in self._arms.get(name, {}) if point not in hits]
        if self._lived_armed(name):
            self._arms[name] = dict.fromkeys(left, 1)


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
        # To arm a point takes a kill, or two, and a role dies there.
        at_random = max(0, self.kills - _KILLS_PER_POINT * len(self.points))
        steps: list[str | None] = [*self.points, *[None] * at_random]
        self.chance.shuffle(steps)
        for step in steps:
            await self._next(step, self.chance.randint(1, _VISITS))
        while not self._over and (self.missing or self.keeper.kills.total() < self.kills):
            step = self.chance.choice(self.missing) if self.missing else None
            await self._next(step, 1)

    @property
    def missing(self) -> list[str]:
        """Points at which no role has died so far."""
        return [point for point in self.points if not self.keeper.hit[point]]

    @property
    def _over(self) -> bool:
        return time.monotonic() >= self.until

    async def _next(self, point: str | None, visit: int) -> None:
        if self._over:
            return
        if point is None or self.keeper.hit[point] or self.keeper.awaits(point):
            running = [name for name, role in self.keeper.cluster.roles.items() if role.runs]
            await self._die(self.chance.choice(running) if running else None)
        else:
            await self._at(point, visit)

    async def _at(self, point: str, visit: int) -> None:
        """Make a role of a kind that reaches *point* die there.

        Where one leads, all of them are killed in turn: the next that leads dies there.
        """
        kind = self.chance.choice(REACHED_BY[point])
        named = [role.name for role in self.keeper.cluster.of(kind)]
        self.chance.shuffle(named)
        before = [(BEFORE[point], 1)] if point in BEFORE else []
        for name in named if kind in _LED else named[:1]:
            if not self.keeper.hit[point]:
                self.keeper.arm(name, [*before, (point, 1 if before else visit)])
                await self._die(name)

    async def _die(self, name: str | None) -> None:
        if name is not None:
            self.keeper.kill(name)
        await asyncio.sleep(self.every_s * self.chance.uniform(0.5, 1.5))
