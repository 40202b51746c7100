"""Does a copied log open, count and hold its promises, and does every key it needs exist?"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from cs.backup.manifest import BackupError
from cs.data_folder import DataFolder, DataFolderError
from cs.eventlog.audit import Audit
from cs.eventlog.sealing import sealed_names
from cs.eventlog.streams import Streams
from cs.opening import opened


class Copies(DataFolder):
    """Copies of a data folder's files, which need not lie together.

    The master key is read where it is: it is never copied just to look at the others.
    """

    def __init__(self, log: Path, data_keys: Path, master_key: Path) -> None:
        self._log = log
        self._data_keys = data_keys
        self._master_key = master_key
        super().__init__(log.parent, make=False)

    @property
    def log(self) -> Path:
        return self._log

    @property
    def data_keys(self) -> Path:
        return self._data_keys

    @property
    def master_key(self) -> Path:
        return self._master_key


class Checked(msgspec.Struct, frozen=True):
    """What a log holds."""

    head: int
    world: str | None
    violations: int


async def check(copies: Copies) -> Checked:
    """Read the log of *copies* whole, opening every personal value in it.

    Raises:
        DataFolderError: It cannot be read, an event is missing, or the key of a person.
    """
    before = set(copies.path.iterdir())
    try:
        async with opened(copies) as data:
            audit = Audit()
            violations = position = 0
            while page := await data.log.tail(position):
                violations += sum(1 for recorded in page for _ in audit.check(recorded))
                position = page[-1].position
            head = await data.log.head()
            world = (await Streams(data.log).service()).state.world
    except DataFolderError as error:
        raise BackupError(
            f"{copies.log} and {copies.data_keys} cannot be read: {error.__cause__ or error}"
        ) from error
    finally:
        for made in set(copies.path.iterdir()) - before:
            made.unlink(missing_ok=True)  # views, and what lies beside an open file
    if not head == position == audit.events:
        raise BackupError(f"{copies.log} ends at position {head} and holds {audit.events}")
    missing = _without_key(copies.log, copies.data_keys)
    if missing:
        raise BackupError(
            f"{copies.data_keys} lacks {missing} keys of people in {copies.log}: "
            "it is older than the log; use keys of the same backup or newer ones"
        )
    return Checked(head, world, violations)


def _without_key(log: Path, data_keys: Path) -> int:
    """Return how many people of *log* have no entry in *data_keys*.

    One whose key was destroyed has an entry: it says so.
    """
    with closing(sqlite3.connect(f"{data_keys.as_uri()}?mode=ro", uri=True)) as db:
        return sum(
            db.execute("SELECT 1 FROM data_key WHERE name = ?", (name,)).fetchone() is None
            for name in _people(log)
        )


def _people(log: Path) -> Iterator[str]:
    """Yield the name of the data key of every sealed value in *log*."""
    with closing(sqlite3.connect(f"{log.as_uri()}?mode=ro", uri=True)) as db:
        for (state,) in db.execute(
            "SELECT state FROM stored_events WHERE instr(state, CAST('\"sealed\"' AS BLOB))"
        ):
            plain = msgspec.json.decode(state)
            yield from sealed_names(plain, plain.get("lookup", ""))
