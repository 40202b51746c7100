"""The Node tools of `dev/node`, run by the script that installs them."""

import subprocess
import sys
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
    if done.returncode:
        raise Found(done.stdout)
    return done.stdout
