"""Measurements of disks, certificates, the master key and backups for `/metrics`.

They are made when the page is requested.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from cs.metrics.metrics import Metrics
from cs.runtime.data_folder import LAST_BACKUP, DataFolder
from cs.settings import Settings

#: Settings with the file of a certificate, and of those with the certificates of authorities,
#: of which it is enough that one is valid.
CERTIFICATES, AUTHORITIES = ("kafka_certificate_file",), ("kafka_ca_file",)


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
        for names, pick in ((CERTIFICATES, _first), (AUTHORITIES, max)):
            _show_certificates(metrics, settings, names, pick)
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
    names: Collection[str],
    pick: Callable[[Sequence[datetime]], datetime],
) -> None:
    for name in names:
        path: Path | None = getattr(settings, name)
        if path is None:
            continue
        from cryptography import x509  # noqa: PLC0415  a service without Kafka loads none

        try:
            found = x509.load_pem_x509_certificates(path.read_bytes())
        except (OSError, ValueError, x509.InvalidVersion):
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
