"""Changes as a page of ``docs`` shows them, put into a copy of the sources."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Change(NamedTuple):
    """What a page shows of one file: hunks as in a unified diff, without line numbers."""

    path: str
    hunks: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Make the change below *root*; each hunk stands after the one before it.

        Raises:
            AssertionError: The file has no such lines any more.
        """
        file = root / self.path
        text, done = file.read_text() if file.exists() else "", 0
        for hunk in self.hunks:
            before, after = _side(hunk, " -"), _side(hunk, " +")
            at = text.find(before, done)
            assert at >= 0, f"{self.path} has no longer:\n{before}"
            text = text[:at] + after + text[at + len(before) :]
            done = at + len(after) - len(after.splitlines(keepends=True)[-1])
        file.write_text(text)


def changes(page: str) -> list[Change]:
    """Return what ``docs``/*page* shows, in its order."""
    shown = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^```diff\n\+\+\+ (\S+)\n(.*?)^```$", shown, re.MULTILINE | re.DOTALL)
    return [
        Change(path, tuple(re.split(r"^@@.*\n", hunks, flags=re.MULTILINE)[1:]))
        for path, hunks in blocks
    ]


def copy_sources(to: Path) -> None:
    """Copy sources and tests, with what mypy knows of them, into the folder *to*."""
    for name in ("src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, to / name, ignore=ignored)
    shutil.copy2(ROOT / "pyproject.toml", to)
    if (ROOT / ".mypy_cache").exists():  # or it reads everything, which takes a minute
        shutil.copytree(ROOT / ".mypy_cache", to / ".mypy_cache")


def run_in(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with *command* on the sources and tests in *copy*."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": "src:tests"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def _side(hunk: str, marks: str) -> str:
    lines = hunk.splitlines(keepends=True)
    return "".join(line[1:] or "\n" for line in lines if line[0] in marks or line == "\n")
