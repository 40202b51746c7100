"""Private folders for files that are being made: a file appears once it is complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cs.runtime.private_files import temporary_folder


class ExportFailed(Exception):
    """The file cannot be written; the message says why."""


class OtherExport(Exception):
    """There is a file at that path already."""


def check_free(out: Path) -> None:
    """Return if nothing is at *out*.

    Raises:
        OtherExport: Something is.
    """
    if os.path.lexists(out):
        raise OtherExport(f"{out} is there already: name another one")


@contextmanager
def part_of(out: Path) -> Iterator[Path]:
    """Yield a private folder ``NAME.part-…`` next to *out*; its file ``made`` becomes *out*.

    Raises:
        OtherExport: There is a file at *out*.
        ExportFailed: It cannot be written.
    """
    check_free(out)
    with disk_failures(out), private_folder(out.parent, f"{out.name}.part-") as folder:
        yield folder
        check_free(out)
        (folder / "made").rename(out)


@contextmanager
def private_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder in *parent*; its files are private, and removed at the end.

    Folders with that *prefix* of killed processes are removed at the beginning.
    """
    mask = os.umask(0o077)  # people may be in it
    try:
        with temporary_folder(parent, prefix) as folder:
            yield folder
    finally:
        os.umask(mask)


@contextmanager
def disk_failures(path: Path) -> Iterator[None]:
    """Raise `ExportFailed` about *path* for an error of the disk."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ExportFailed(f"{path} cannot be written: {why}") from error
