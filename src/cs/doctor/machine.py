"""This machine: the disk of the data, who may read the keys, and how many files may be open."""

import resource
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile

from cs.doctor.finding import DoctorFinding
from cs.runtime.private_files import exposed

GIB = 1 << 30
#: An event takes 1.3 KB on SQLite (a log of 10 million: 13.2 GB), a live search some hundred.
ENOUGH_BYTES, LITTLE_BYTES = 10 * GIB, GIB
#: A call that is held is an open file, and so is each connection to the outside.
FILES = 4_096


def check_disk(folder: Path) -> DoctorFinding:
    """Return whether *folder*, which need not be there yet, can be written and has room."""
    check = "disk"
    there = next(
        each for each in (folder.absolute(), *folder.absolute().parents) if each.exists()
    )
    if not there.is_dir():
        return DoctorFinding(
            check, "failed", f"{there} is no folder", "name another with --data-dir"
        )
    try:
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        advice = "give this user the right to write it, or name another folder with --data-dir"
        said = f"{there} cannot be written: {error.strerror}"
        return DoctorFinding(check, "failed", said, advice)
    free = shutil.disk_usage(there).free
    said = f"{free / GIB:.1f} GiB free for {folder}"
    advice = (
        "make room; the service stops taking searches when the disk is full, and loses none"
    )
    if free < LITTLE_BYTES:
        return DoctorFinding(check, "failed", said, advice)
    if free < ENOUGH_BYTES:
        return DoctorFinding(check, "warning", said, advice)
    return DoctorFinding(check, "ok", said)


def check_secret_files(files: Mapping[str, Path]) -> list[DoctorFinding]:
    """Return who else may read *files* with keys and passwords, by the setting of each."""
    return [_check_secret(setting, path) for setting, path in files.items()]


def _check_secret(setting: str, path: Path) -> DoctorFinding:
    check = f"file {setting}"
    try:
        told = exposed(path)
    except OSError as error:
        said = f"{path} cannot be looked at: {error.strerror}"
        return DoctorFinding(
            check, "failed", said, f"mend its rights, or set {setting} to another"
        )
    if told is not None:
        said, _, advice = told.partition("; ")
        return DoctorFinding(check, "failed", said, advice)
    return DoctorFinding(check, "ok", f"nobody else can read {path}")


def check_open_files(holds: int) -> DoctorFinding:
    """Return whether this process may open enough files.

    Args:
        holds: Calls that the service holds open at once.
    """
    check, wanted = "open files", max(FILES, 2 * holds)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit in {-1, resource.RLIM_INFINITY} or limit >= wanted:
        return DoctorFinding(check, "ok", f"at most {limit}, and {wanted} are enough")
    advice = f"ulimit -n {wanted}, or LimitNOFILE={wanted} in the unit of systemd"
    return DoctorFinding(
        check, "warning", f"at most {limit} at once, and {wanted} may be", advice
    )
