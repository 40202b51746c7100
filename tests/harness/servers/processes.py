"""What runs on this machine, as its /proc tells it: no command is needed for that."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def command_line(pid: int) -> str:
    """Return the words of a process; empty if there is none, or it has ended unwaited for."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def process_ids() -> Iterator[int]:
    """Yield the id of every process there is."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            yield int(folder.name)


def naming(text: str) -> list[str]:
    """Return the ids and command lines of processes whose command lines name *text*."""
    found = ((pid, command_line(pid)) for pid in process_ids())
    return [f"{pid} {line}" for pid, line in found if text in line]


def started_with(variable: str, value: str) -> Iterator[int]:
    """Yield the ids of processes that inherited *variable* with *value*.

    Those of other accounts are left out unless we are root.
    """
    wanted = f"{variable}={value}".encode()
    for pid in process_ids():
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                yield pid
