"""``python -m conformance``: how much of the contract is covered, and what the suite notices.

Exit code 1 if a row has no test or a broken server is not noticed.
"""

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from conformance.broken_servers import BROKEN
from conformance.broken_service import SOUND, broken_service
from conformance.rows import coverage

console = Console()


def main() -> int:
    """Print both tables; return the exit code."""
    covered = _print_coverage()
    with tempfile.TemporaryDirectory(prefix="cs-conformance-") as folder:
        noticed = _print_broken(Path(folder))
    return 0 if covered and noticed else 1


def _print_coverage() -> bool:
    found = coverage()
    shown = len(found.over_http) + len(found.in_process)
    console.print(
        f"{shown} of {len(found.rows)} rows have a test: {len(found.over_http)} over HTTP, "
        f"{len(found.in_process)} in process; none is skipped"
    )
    for row, tests in sorted(found.in_process.items()):
        for test in tests:
            console.print(f"  {row:<4}{test}", soft_wrap=True)
    wrong = found.bare | found.unknown | found.missing
    for what in sorted(wrong):
        console.print(f"  [red]no test, or no such row: {what}")
    return not wrong


def _print_broken(folder: Path) -> bool:
    table = Table()
    for column in ("Broken server", "Test that has to be red", ""):
        table.add_column(column, overflow="fold")
    noticed = 0
    with broken_service(folder) as servers:
        sound = servers.red(SOUND, *sorted({broken.test for broken in BROKEN.values()}))
        table.add_row("none", "all of these", "[green]green" if not sound else f"[red]{sound}")
        for name, broken in BROKEN.items():
            red = [t for t in servers.red(name, broken.test) if t.startswith(broken.test)]
            noticed += bool(red)
            file, _, test = broken.test.partition("::")
            told = "[green]red" if red else "[red]NOT NOTICED"
            table.add_row(name, f"{file}\n{test.partition('[')[0]}", told)
    console.print(table)
    console.print(f"{noticed} of {len(BROKEN)} broken servers are noticed")
    return noticed == len(BROKEN) and not sound


if __name__ == "__main__":
    sys.exit(main())
