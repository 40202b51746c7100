"""Measurements of disks, certificates, the master key and backups for `/metrics`.

They are made when the page is requested.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from cs.metrics.metrics import Metrics
from cs.runtime.data_folder import LAST_BACKUP, DataFolder
from cs.settings import Settings


def measure_files(
    metrics: Metrics, settings: Settings, folder: DataFolder | None = None
) -> None:
    """Show the age of the master key and certificates of *settings*; of *folder* its disk."""
    master_key = settings.master_key_file if folder is None else folder.master_key
    running: asyncio.Future[None] | None = None
    if folder is not None and not (first := folder.path / LAST_BACKUP).exists():
        with suppress(OSError):  # there is nothing to back up before the service begins
            first.touch(mode=0o600)

    def measure() -> None:
        if master_key is not None and (found := _stat(master_key)) is not None:
            metrics.key_made.of("master_key_file").set(found.st_mtime)
        # The certificate itself comes first in its file, then those of its authorities; of
        # authorities that are trusted it is enough that one is valid.
        _show_certificates(metrics, settings, "kafka_certificate_file", lambda ends: ends[0])
        _show_certificates(metrics, settings, "kafka_ca_file", max)
        if folder is not None:
            _show_folder(metrics, folder)

    async def measure_aside() -> None:
        nonlocal running
        if running is None or running.done():
            running = asyncio.ensure_future(asyncio.to_thread(measure))
        await asyncio.shield(running)  # a file system may hang, and one thread with it

    metrics.measurements["files"] = measure_aside


def _show_certificates(
    metrics: Metrics,
    settings: Settings,
    name: str,
    pick: Callable[[Sequence[datetime]], datetime],
) -> None:
    path: Path | None = getattr(settings, name)
    if path is None:
        return
    from cryptography import x509  # noqa: PLC0415  a service without Kafka loads none

    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError, x509.InvalidVersion):
        return  # the connection to Kafka reports it
    ends = pick([each.not_valid_after_utc for each in found])
    metrics.certificate_ends.of(name).set(ends.timestamp())


def _show_folder(metrics: Metrics, folder: DataFolder) -> None:
    disk = os.statvfs(folder.path)
    metrics.disk_free.of().set(disk.f_bavail * disk.f_frsize)
    metrics.disk_size.of().set(disk.f_blocks * disk.f_frsize)
    backup = _stat(folder.path / LAST_BACKUP)
    metrics.backup_at.of().set(0 if backup is None else backup.st_mtime)
    metrics.database_size.clear()
    for file in folder.path.glob("*.db"):
        if (found := _stat(file)) is not None:
            metrics.database_size.of(file.name).set(found.st_size)


def _stat(path: Path) -> os.stat_result | None:
    """Return the size and times of the file *path*; ``None`` if it is not there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
