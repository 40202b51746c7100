"""Why an export could not be made."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ExportFailed(Exception):
    """The file cannot be written; the message says why."""


class OtherExport(ExportFailed):
    """What is there is something else, or was begun otherwise."""


@contextmanager
def disk_failures(path: Path) -> Iterator[None]:
    """Raise `ExportFailed` about *path* for what the disk refuses."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise ExportFailed(f"{path} cannot be written: {why}") from error
