"""Does a copied log open, count and hold its promises, and which keys does it lack?"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cs.assembly.folder_keys import open_key_store
from cs.assembly.folder_stores import open_folder
from cs.backup.errors import BackupError
from cs.eventlog.audit import Audit
from cs.eventlog.streams import Streams
from cs.runtime.data_folder import DataFolder, DataFolderError


class Copies(DataFolder):
    """Copies of a data folder's files, which need not lie together.

    The master key is read where it is: it is never copied just to look at the others.
    """

    def __init__(
        self, log: Path, data_keys: Path, master_key: Path, next_master_key: Path | None
    ) -> None:
        self._log = log
        self._data_keys = data_keys
        following = next_master_key
        if following is not None and not following.exists():
            following = None
        super().__init__(
            log.parent, make=False, master_key=master_key, next_master_key=following
        )

    @property
    def log(self) -> Path:
        return self._log

    @property
    def data_keys(self) -> Path:
        return self._data_keys


class LogCheck(msgspec.Struct, frozen=True):
    """What a log holds.

    Attributes:
        keys_lost: Data keys of people in it that the key store does not have.  One that was
            destroyed is not lost: the store says so.
    """

    head: int
    world: str | None
    violations: int
    keys_lost: int
    master_keys: Sequence[str]  # names of those that the keys are wrapped with


async def check(copies: Copies) -> LogCheck:
    """Read the log of *copies* whole, opening every personal value in it.

    Raises:
        DataFolderError: It cannot be read, or an event is missing.
    """
    before = set(copies.path.iterdir())
    try:
        async with open_folder(copies) as data:
            audit = Audit()
            violations = position = 0
            lost: set[str] = set()
            with data.keys.lost.listening(lambda value: lost.add(value.name)):
                while page := await data.log.tail(position):
                    violations += sum(1 for recorded in page for _ in audit.check(recorded))
                    position = page[-1].position
            head = await data.log.head()
            world = (await Streams(data.log).service()).state.world
        async with open_key_store(copies) as keys:
            master_keys = await keys.versions()
    except DataFolderError as error:
        raise BackupError(
            f"{copies.log} and {copies.data_keys} cannot be read: {error.__cause__ or error}"
        ) from error
    finally:
        for made in set(copies.path.iterdir()) - before:
            made.unlink(missing_ok=True)  # views, and what lies beside an open file
    if not head == position == audit.events:
        raise BackupError(f"{copies.log} ends at position {head} and holds {audit.events}")
    return LogCheck(head, world, violations, len(lost), master_keys)
