"""A file that a command writes what it found to: a new one, private to its owner."""

import os
from pathlib import Path

from cs.cli.output import stop


def check_new(file: Path) -> None:
    """End the command if *file* is there, or its folder is not: before anything is read."""
    if file.exists():
        stop(f"{file} is there already: name another file", 2)
    if not file.parent.is_dir():
        stop(f"{file} cannot be written: there is no folder {file.parent}", 2)


def write_new(file: Path, content: bytes) -> None:
    """Write *content* into *file*, mode 0600.

    Raises:
        SystemExit: It is there already, or cannot be written.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
    except FileExistsError:
        stop(f"{file} is there already: name another file", 2)
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror}")
