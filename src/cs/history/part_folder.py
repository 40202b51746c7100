"""The folder next to a file that is being made: the file appears once it is whole."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cs.runtime.private_files import temporary_folder


class ExportFailed(Exception):
    """The file cannot be written; the message says why."""


class OtherExport(Exception):
    """Something else is there, or another process writes it."""


def check_free(out: Path) -> None:
    """Return if nothing is at *out*.

    Raises:
        OtherExport: Something is.
    """
    if os.path.lexists(out):
        raise OtherExport(f"{out} is there already: name another one")


@contextmanager
def part_of(out: Path) -> Iterator[Path]:
    """Yield the folder ``NAME.part`` next to *out*, private, for what is being made.

    It is removed at the end; what a killed process left in it is removed at the beginning.

    Raises:
        OtherExport: Something else is there, or another process uses it.
        ExportFailed: It cannot be written.
    """
    check_free(out)
    folder = out.with_name(f"{out.name}.part")
    mask = os.umask(0o077)  # people may be in it
    try:
        with disk_failures(out):
            if folder.is_symlink() or (folder.exists() and not _is_ours(folder)):
                raise OtherExport(f"{folder} is no export that was begun; remove it")
            folder.mkdir(exist_ok=True)
            with _locked(folder):
                for left in folder.iterdir():
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.umask(mask)


@contextmanager
def temporary_tables() -> Iterator[Path]:
    """Yield a private temporary folder for the tables of a report.

    Raises:
        ExportFailed: There can be none.
    """
    place = Path(tempfile.gettempdir())
    mask = os.umask(0o077)
    try:
        with disk_failures(place), temporary_folder(place, "cs-report-") as folder:
            yield folder
    finally:
        os.umask(mask)


def _is_ours(folder: Path) -> bool:
    """Return whether *folder* holds nothing but what exports leave."""
    ours = ("gathered.duckdb", "rows.ndjson", "made", "tmp")
    return folder.is_dir() and all(each.name.startswith(ours) for each in folder.iterdir())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise OtherExport(f"{folder} is being written by another process") from None
    finally:
        os.close(descriptor)


@contextmanager
def disk_failures(path: Path) -> Iterator[None]:
    """Raise `ExportFailed` about *path* for what the disk refuses."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ExportFailed(f"{path} cannot be written: {why}") from error
