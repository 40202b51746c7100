"""Figures of what an operator has to look after: disks, certificates, keys, backups.

They are measured when `/metrics` is asked for.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path

from cryptography import x509

from cs.metrics.metrics import Metrics
from cs.runtime.data_folder import LAST_BACKUP, DataFolder
from cs.settings import Settings

#: Settings with the file of a certificate, and of those with the certificates of authorities,
#: of which it is enough that one is valid.
CERTIFICATES, AUTHORITIES = ("kafka_certificate_file",), ("kafka_ca_file",)
KEY_FILES = ("master_key_file", "stages_key_file")


def measure_files(
    metrics: Metrics, settings: Settings, folder: DataFolder | None = None
) -> None:
    """Show the age of keys and certificates of *settings*; of *folder* also its disk."""
    keys = {name: path for name in KEY_FILES if (path := getattr(settings, name))}
    if folder is not None:
        keys["master_key_file"] = folder.master_key

    def measure() -> None:
        for name, path in keys.items():
            if (written := _written(path)) is not None:
                metrics.key_made.of(name).set(written)
        for names, pick in ((CERTIFICATES, _first), (AUTHORITIES, max)):
            _show_certificates(metrics, settings, names, pick)
        if folder is not None:
            _show_folder(metrics, folder)

    async def measure_aside() -> None:
        await asyncio.to_thread(measure)  # a file system may hang

    metrics.asked["files"] = measure_aside


def _show_certificates(
    metrics: Metrics,
    settings: Settings,
    names: Collection[str],
    pick: Callable[[Sequence[datetime]], datetime],
) -> None:
    for name in names:
        path: Path | None = getattr(settings, name)
        if path is None:
            continue
        try:
            found = x509.load_pem_x509_certificates(path.read_bytes())
        except (OSError, ValueError):
            continue  # the connection to Kafka reports it
        ends = pick([each.not_valid_after_utc for each in found])
        metrics.certificate_ends.of(name).set(ends.timestamp())


def _first(ends: Sequence[datetime]) -> datetime:
    """Return the end of the certificate itself; those of its authorities follow it."""
    return ends[0]


def _show_folder(metrics: Metrics, folder: DataFolder) -> None:
    disk = os.statvfs(folder.path)
    metrics.disk_free.of().set(disk.f_bavail * disk.f_frsize)
    metrics.disk_size.of().set(disk.f_blocks * disk.f_frsize)
    metrics.backup_at.of().set(_written(folder.path / LAST_BACKUP) or 0)
    for file in folder.path.glob("*.db"):
        metrics.database_size.of(file.name).set(file.stat().st_size)


def _written(path: Path) -> float | None:
    """Return when *path* was last written, seconds since 1970; ``None`` if it is not there."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None
