"""Starts roles again that ended by themselves, as any supervisor of processes does."""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.service_process import ServiceProcess

#: Before the first new start, seconds; each time a role ends soon again, twice as long.
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0
#: A role that ran for so long begins with the first wait again.
STEADY_S = 60.0


@dataclass
class Supervisor:
    """Looks after *roles*; *tell* hears of every end and every new start."""

    roles: Mapping[str, ServiceProcess]
    tell: Callable[[str], None]
    now: Callable[[], float] = time.monotonic
    _waits: dict[str, float] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)
    _started: dict[str, float] = field(default_factory=dict)

    def look(self) -> None:
        """Note who has ended, and start whose wait is over."""
        for name, role in self.roles.items():
            if role.runs:
                continue
            if name not in self._due:
                self._due[name] = self.now() + self._note_end(name, role)
            elif self.now() >= self._due[name]:
                del self._due[name]
                role.start()
                self._started[name] = self.now()
                self.tell(f"{name} is started again as process {role.pid}")

    def _note_end(self, name: str, role: ServiceProcess) -> float:
        """Tell of the end of *role*; return how long to wait, seconds."""
        ran_s = self.now() - self._started.get(name, float("-inf"))
        before = self._waits.get(name) if ran_s < STEADY_S else None
        wait = FIRST_WAIT_S if before is None else min(2 * before, LONGEST_WAIT_S)
        self._waits[name] = wait
        how = how_it_ended(role.exit_code)
        said = f": {role.last_line}" if (role.exit_code or 0) > 0 else ""
        self.tell(f"{name} has ended ({how}{said}); again in {wait:.0f} s")
        return wait


def how_it_ended(code: int | None) -> str:
    """Return *code*, as `subprocess` has it, in words.

    >>> how_it_ended(-9), how_it_ended(2)
    ('SIGKILL', 'exit code 2')
    """
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
