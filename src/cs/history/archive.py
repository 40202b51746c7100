"""Archives: events of the log as Parquet files, sealed as they are stored, for cold storage.

No person in an archive can be read without the key store: one erased there is erased here.
"""

import os
from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path

import msgspec

from cs.eventlog.port import EventLog, SealedEvent
from cs.eventlog.streams import Streams
from cs.history.export import connect, copy_lines, quoted
from cs.history.history import Progress
from cs.history.part_folder import ExportFailed, part_of
from cs.keystore.port import KeyStore

MANIFEST = "manifest.json"
#: Events of one file, some 300 MB of JSON.
FILE = 500_000
#: Events read at once.
PAGE = 5_000
_COLUMNS = "position BIGINT, stream VARCHAR, version INTEGER, topic VARCHAR, state VARCHAR"


class Archive(msgspec.Struct, frozen=True):
    """What an archive holds; its manifest.

    Attributes:
        after, upto: The positions of its events: after the one, up to the other.
        files: SHA-256 of each, in hex.
        epoch: Of the log (`cs.keystore.recovery`): another one may hold other events there.
        world: Of the log; ``None``: no service has run on it yet.
    """

    after: int
    upto: int
    files: dict[str, str]
    epoch: int
    world: str | None
    format: int = 1


async def archive(
    log: EventLog, keys: KeyStore, after: int, upto: int, out: Path, *, progress: Progress
) -> Archive:
    """Copy the events after *after* up to *upto* into the new folder *out*; check the copy.

    Raises:
        OtherExport: There is something at *out*.
        ExportFailed: It cannot be written, or is not what the log holds.
        LogUnavailable, KeysUnavailable: The log or the key store cannot be read now.
    """
    files = {}
    with part_of(out) as folder:
        made = folder / "made"
        made.mkdir()
        for first in range(after, upto, FILE):
            last = min(first + FILE, upto)
            file, lines = made / f"events-{first + 1:012d}.parquet", folder / "rows.ndjson"
            with lines.open("wb") as rows:
                for start in range(first, last, PAGE):
                    page = await _page(log, start, last)
                    rows.write(msgspec.json.Encoder().encode_lines(_rows(page)))
                    progress(start + len(page), upto)
            copy_lines(lines, _COLUMNS, file)
            lines.unlink()
            await _compare(log, file, first, last, folder)
            with file.open("rb") as written:
                files[file.name] = file_digest(written, "sha256").hexdigest()
        mark = await keys.recovery.mark()
        world = (await Streams(log).service()).state.world
        done = Archive(after, upto, files, 1 if mark is None else mark.epoch, world)
        (made / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(done), indent=2))
        for each in (*made.iterdir(), made):
            _sync(each)
    _sync(out.parent)
    return done


def _sync(path: Path) -> None:
    """Make the file *path*, or the names in the folder *path*, durable."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


async def _page(log: EventLog, after: int, upto: int) -> Sequence[SealedEvent]:
    """Return the events after *after*, at most `PAGE` and up to *upto*.

    Raises:
        ExportFailed: One is missing.
    """
    last = min(after + PAGE, upto)
    page = await log.stored(after, last - after)
    if [each.position for each in page] != list(range(after + 1, last + 1)):
        raise ExportFailed(f"an event after position {after} is missing: see `cs log verify`")
    return page


def _rows(page: Sequence[SealedEvent]) -> list[dict[str, object]]:
    try:
        return [each._asdict() | {"state": each.state.decode()} for each in page]
    except UnicodeDecodeError as error:
        raise ExportFailed(f"an event is damaged: {error}: see `cs log verify`") from error


async def _compare(log: EventLog, file: Path, first: int, last: int, scratch: Path) -> None:
    """Read *file* back, and compare it with the log event by event."""
    with connect(scratch) as database:
        copied = database.execute(f"FROM read_parquet({quoted(file)}) ORDER BY position")
        for start in range(first, last, PAGE):
            page = await _page(log, start, last)
            if _rows(page) != [
                dict(zip(SealedEvent._fields, row, strict=True))
                for row in copied.fetchmany(len(page))
            ]:
                raise ExportFailed(f"{file.name} is not what the log holds after {start}")
