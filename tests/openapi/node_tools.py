"""The Node tools of `dev/node`, run by the script that installs them."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.servers.missing import Missing

DEV = Path(__file__).parents[2] / "dev"
DOCUMENT = Path(__file__).parents[2] / "src" / "cs" / "api" / "openapi.json"
_UNAVAILABLE = 69


class Found(Exception):
    """The tool found fault; the message is what it printed."""


def run_tool(tool: str, *arguments: str | Path, folder: Path) -> str:
    """Run *tool* in *folder* and return what it printed; skips where it cannot be had.

    Raises:
        Found: It did not succeed.
    """
    with _run(tool, *arguments, folder=folder) as done:
        if done.returncode:
            raise Found(done.stdout)
        return done.stdout


@contextmanager
def _run(
    tool: str, *arguments: str | Path, folder: Path
) -> Iterator["subprocess.CompletedProcess[str]"]:
    done = subprocess.run(
        [sys.executable, DEV / "node_tools.py", tool, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == _UNAVAILABLE:
        raise Missing(done.stdout.strip())
    yield done
