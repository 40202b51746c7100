"""The command as users run it: here, or in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from harness.forked_process import run_command


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.out.splitlines()]

    def error(self, code: int = 1) -> str:
        """Return the one line that reports a mistake."""
        assert self.code == code, self
        assert self.err.startswith("cs: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("cs: ").strip()


#: How long a command may take to end what it has started.
TO_END_S = 20

#: Runs a command in this process.
Here = Callable[..., Ran]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without settings of a service, and *more*."""
    # Unbuffered, Python would hide what the command forgets to flush.
    dropped = ("CS_", "PYTHONUNBUFFERED")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return kept | more


class Started(subprocess.Popen[str]):
    """A command that a failing test does not leave running."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.terminate()  # it ends what it has started; if it cannot, nobody can
            try:
                self.wait(TO_END_S)
            except subprocess.TimeoutExpired:
                self.kill()
        super().__exit__(kind, error, trace)


def started(*arguments: str, **more: str) -> Started:
    """Start the command with its three streams open to us."""
    return Started(
        [sys.executable, "-m", "cs", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
    )


def ran(*arguments: str, stdin: str = "", **more: str) -> Ran:
    """Run the command in a process of its own to its end.

    It is forked from one that has the service imported; what matters in how it starts from
    nothing is asked by `started`.
    """
    done = run_command(arguments, environment(**more), 60.0, stdin=stdin, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)
