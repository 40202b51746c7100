"""Events as one Parquet file: what lines of JSON say, in typed columns, ``data`` as JSON.

A Parquet file ends with what its parts are, so one that was cut off cannot be gone on with: it
is written as ``NAME.part``, and begun again.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cs.history.export.errors import OtherExport, disk_failures
from cs.history.lines import ShownEvent
from cs.runtime.private_files import open_private

#: The columns; times are UTC.  Stream and type repeat, and are stored once each.
SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("stream", pa.string()),
        ("version", pa.int32()),
        ("type", pa.string()),
        ("happened_at", pa.timestamp("us")),
        ("lookup", pa.string()),
        ("data", pa.string()),
    ]
)
#: A group of rows is written when it has so many events, or so many bytes of data.
GROUP, GROUP_BYTES = 50_000, 32 << 20


class EventFile:
    """Use `event_file`."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._waiting: list[ShownEvent] = []
        self._bytes = 0

    def write(self, events: Sequence[ShownEvent]) -> None:
        """Add *events*."""
        self._waiting += events
        self._bytes += sum(len(shown.data) for shown in events)
        if len(self._waiting) >= GROUP or self._bytes >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        rows = self._waiting
        columns = (
            [shown.event.position for shown in rows],
            [shown.event.stream for shown in rows],
            [shown.event.version for shown in rows],
            [shown.event.topic for shown in rows],
            [shown.event.at for shown in rows],
            [shown.event.lookup for shown in rows],
            [shown.data for shown in rows],
        )
        arrays = [
            pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA))
        self._waiting, self._bytes = [], 0


@contextmanager
def event_file(path: Path, *, resume: bool) -> Iterator[EventFile]:
    """Yield what writes the file *path*, which is there when this ends well.

    Args:
        path: Of the file.
        resume: Begin again what another process began and did not end.

    Raises:
        OtherExport: Something else is there, or another process writes it.
        ExportFailed: It cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    if os.path.lexists(path):
        raise OtherExport(f"{path} is there already: name another one")
    if part.exists() and not resume:
        raise OtherExport(
            f"{part} is of an export that was cut off: begin it again with --resume, "
            "or remove it"
        )
    with disk_failures(path), open_private(part, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OtherExport(f"{part} is being written by another process") from None
        file.truncate(0)
        with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            written = EventFile(writer)
            yield written
            written.flush()
        file.flush()
        os.fsync(file.fileno())
        part.rename(path)
