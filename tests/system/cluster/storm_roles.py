"""Kills roles of a cluster, and starts whoever ended again half a second later."""

import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cs.domain.stages.table import OWN_STAGES
from cs.runtime import failpoints
from system.cluster.cluster import Cluster, end_in_words

#: How long a role stays dead.
AGAIN_S = 0.5
#: What no role reaches: the embedded log alone has an open transaction between two steps,
#: and only an embedded start issues all open work again, since its bus forgets.
EMBEDDED_ONLY = frozenset({"log.before-commit", "sweep.before-restart", "sweep.after-restart"})
#: Every point that some role reaches.
POINTS = tuple(point for point in failpoints.POINTS if point not in EMBEDDED_ONLY)
#: Who reaches a point, by what its name begins with.
REACHED_BY = {
    "admission": ("api",),
    "log": ("api",),
    "relay": ("relay",),
    "stage": tuple(f"stage-{name}" for name in OWN_STAGES),
    "projection": ("project",),
    **dict.fromkeys(
        ("change", "outcome", "timer", "sweep", "settlement", "learning"), ("process-manager",)
    ),
}
#: Stages that find something on the way.
PROGRESS_OF = ("stage-contact-discovery", "stage-verification")
#: Where somebody has to die before, so that whoever comes next reaches the point.
BEFORE = {"sweep.before-settlement": "settlement.before-append"}
_HIT = re.compile(rb"^failpoint (\S+) hit$", re.MULTILINE)


def reached_by(point: str) -> tuple[str, ...]:
    """Return the kinds of role that reach *point*.

    >>> reached_by("relay.after-publish")
    ('relay',)
    """
    if point.endswith("-progress"):
        return PROGRESS_OF
    return REACHED_BY[point.partition(".")[0]]


@dataclass
class Keeper:
    """Keeps the roles of *cluster* running, and the account of how they ended.

    Attributes:
        kills: Roles that ended by SIGKILL, ours or that of a fail point, by kind.
        hit: Fail points at which a role died.
        fell: Every other end: who, how, and its last words.
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
        """Have the next lives of *name* end at *points* too, by visit, until it met all."""
        self._arms[name] = {**self._arms.get(name, {}), **dict(points)}

    def kill(self, name: str) -> None:
        """Kill the role *name*."""
        role = self.cluster.roles[name]
        if role.runs:
            self.at_start += not role.is_ready
            self._killed.add(name)
            role.kill()

    def look(self) -> None:
        """Note who has ended, and start whose time has come."""
        for name, role in self.cluster.roles.items():
            if role.runs:
                continue
            if self._due.setdefault(name, time.monotonic() + AGAIN_S) <= time.monotonic():
                del self._due[name]
                self._note_end(name)
                self._start(name)

    def disarm(self) -> None:
        """Let the next lives of all roles be long; those that are armed now stay so."""
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
            said = log.read()
        self._read[name] += len(said)
        hits = [found.decode() for found in _HIT.findall(said)]
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
