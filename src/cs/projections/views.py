"""Views: rows and a checkpoint, always of one and the same position.

They can be lost without loss, since they are made from the log.  Each statement is written
once, for both databases (`cs.runtime.sql`).
"""

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from structlog import get_logger

from cs.domain.codec import topic_of
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import LogUnavailable, RecordedEvent
from cs.postgres.errors import Fenced
from cs.projections.builds import (
    Build,
    BuildGone,
    ViewDatabase,
    prefix_of,
    tables_of,
    version_of,
)
from cs.projections.folding import TableRows, folded
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow, damage_of, row_id
from cs.projections.table import Projection, SealBody, Table
from cs.runtime.sql import Many, Work

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

#: How long the tables of another version stay that no process uses: longer than an upgrade, or
#: its way back, takes.
GRACE_S = 24 * 3600.0
#: How often a reader notes that it uses its tables, and a runner looks for unused ones.
NOTE_EVERY_S = 600.0
#: Stands for a damaged event, which cannot be distinguished from another one.
UNREADABLE = "unreadable"
#: As a limit: no limit.
ALL_ROWS = 2**62
#: One process at a time makes or drops tables.
_LOCK = ("SELECT pg_advisory_xact_lock($1)", 0x63735F76)


class Checkpoint(NamedTuple):
    """The last event that views reflect.

    Attributes:
        position: Its position; 0 if there is none.
        last_event: Its name, as `named` gives it.
    """

    position: int
    last_event: str


class StoredRow(NamedTuple):
    """One row, as it is stored or decoded."""

    row_id: str
    tag: str | None
    row: Any


class Views:
    """The rows of all projections, in the build that serves their version.

    ``since`` is a position that was reached before; views that are behind it now were rebuilt
    in between, and know too little.

    Args:
        database: Where the tables are.
        projections: All of them.
        shadow: Use a new build of the same version, which is not read until `take_over`.

    Raises:
        LogUnavailable: From every method: the views cannot be read or written now, were found
            damaged and are rebuilt, or are behind ``since``.
    """

    def __init__(
        self,
        database: ViewDatabase,
        projections: Sequence[Projection],
        *,
        shadow: bool = False,
    ) -> None:
        self._database = database
        self._projections = projections
        self._tables = tables_of(projections)
        self._version = version_of(projections)
        self._shadow = shadow
        self._build: Build | None = None
        self._replaced: list[Callable[[], None]] = []
        self._noted_at = self._retired_at = time.monotonic() - NOTE_EVERY_S

    def shadow(self) -> "Views":
        """Return a new build of the same version in the same database."""
        return Views(self._database, self._projections, shadow=True)

    async def close(self) -> None:
        await self._database.close()

    def on_replaced(self, listener: Callable[[], None]) -> None:
        """Call *listener* when another build serves: what was read before may be wrong."""
        self._replaced.append(listener)

    # Reading.

    async def position(self) -> int:
        """Return the position of the last event that these views reflect."""
        return (await self.checkpoint()).position

    async def checkpoint(self) -> Checkpoint:
        async def read(build: Build) -> Checkpoint:
            found = await self._database.fetch(_CHECKPOINT, *build)
            if not found:
                raise BuildGone
            return Checkpoint(*found[0])

        return await self._with_build(read)

    async def moved(self, after: int) -> int:
        """Return the checkpoint as soon as it is beyond *after*, or after a second."""
        now = time.monotonic()
        if now - self._noted_at >= NOTE_EVERY_S:
            await self._write(_note_use)
            self._noted_at = now
        commit = await self._database.listen()
        position = await self.position()
        if position <= after:
            await commit()
            position = await self.position()
        return position

    async def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None:
        position, row = await self.get_at(table, row_id)
        check_since(position, since)
        return row

    async def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        """Return the checkpoint and a row, both of one moment."""

        async def read(build: Build) -> tuple[int, R | None]:
            position, data = await self._database.row(build, build.table(table.name), row_id)
            return position, None if data is None else table.decode(data)

        return await self._with_build(read)

    async def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        """Return (id, row) of the rows tagged *tag*, by id."""
        return await self._decoded(table, since, "WHERE tag = $3", tag)

    async def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        """Return (id, row) of every row, by id."""
        return await self._decoded(table, since, "")

    async def ids_tagged(
        self,
        table: Table[R],
        tags: Collection[str],
        since: int = 0,
        *,
        limit: int = ALL_ROWS,
    ) -> list[tuple[str, str]]:
        """Return (id, tag) of the rows with any of *tags*, up to *limit* of them."""
        which = "WHERE tag = ANY($3::text[]) LIMIT $4"
        position, found = await self._rows(table, which, list(tags), limit)
        check_since(position, since)
        return [(row_id, tag) for row_id, tag, _ in found if tag is not None]

    async def page(
        self, table: Table[Any], after: str, limit: int
    ) -> tuple[int, Sequence[StoredRow]]:
        """Return the checkpoint and up to *limit* rows with an id after *after*, by id."""
        return await self._rows(table, "WHERE id > $3 ORDER BY id LIMIT $4", after, limit)

    async def _decoded(
        self, table: Table[R], since: int, which: str, *values: str
    ) -> list[tuple[str, R]]:
        position, found = await self._rows(table, which, *values, decode=table.decode)
        check_since(position, since)
        return [(row_id, row) for row_id, _, row in found]

    async def _rows(
        self,
        table: Table[Any],
        which: str,
        *values: object,
        decode: Callable[[bytes], Any] = lambda row: row,
    ) -> tuple[int, list[StoredRow]]:
        """Return the checkpoint and the rows *which*, both of one moment."""

        async def read(build: Build) -> tuple[int, list[StoredRow]]:
            text = _ROWS.format(table=build.table(table.name), which=which)
            found = await self._database.fetch(text, *build, *values)
            if not found:
                raise BuildGone
            rows = [
                StoredRow(row_id, tag, decode(row))
                for _, row_id, tag, row in found
                if row_id is not None
            ]
            return found[0][0], rows

        return await self._with_build(read)

    # Writing.

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        """Apply what is new in *page* and return the checkpoint after it.

        A page that does not go on where the views are is left alone: another process moved or
        rebuilt them, and the checkpoint says from where to read.

        A damaged event in *page* sets its stream aside (`cs.projections.set_aside`): it and all
        that follow it in its stream are passed over.

        Args:
            page: Events in order of position, without gaps; damaged ones `UnreadableEvent`.
            seal: Has the keys of all bodies in *page*.
            epoch: Of the caller's lease, if it has one.

        Raises:
            cs.postgres.errors.Fenced: A process with a later lease was here.
        """
        return await self._write(lambda build: self._apply(build, page, seal, epoch))

    def _apply(
        self, build: Build, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None
    ) -> Work[int]:
        held = yield _HOLD, *build
        if not held:
            raise BuildGone
        checkpoint, last_event, held_epoch, *_ = held[0]
        if epoch is not None and epoch < held_epoch:
            raise Fenced(f"the views were written under lease {held_epoch}, not {epoch}")
        new = following_on(page, checkpoint)
        if new:
            aside = yield from _set_aside(build)
            rows = yield from folded(self._tables, new, build, aside)
            yield from _write(build, rows, seal)
            checkpoint, last_event = new[-1].position, named(new[-1])
        elif epoch is None or epoch == held_epoch:
            return int(checkpoint)
        yield _MOVE, *build, checkpoint, last_event, epoch or 0
        return int(checkpoint)

    async def take_up(
        self,
        row: AsideRow,
        late: Sequence[RecordedEvent],
        seal: SealBody,
        *,
        checkpoint: int,
        is_last: bool,
        epoch: int | None = None,
    ) -> AsideRow | None:
        """Apply *late*, the next events of a stream set aside, none of them after *checkpoint*.

        Returns:
            The row of the stream in `ASIDE` after them, mended by the last of them.  ``None``:
            nothing was done, since the views have moved on from *checkpoint*, the stream is not
            set aside in them, or a process with a later lease was here.

        Raises:
            DamagedEvent: The events make no sense.
        """

        def write(build: Build) -> Work[AsideRow | None]:
            held = yield _HOLD, *build
            aside = yield from _set_aside(build)
            stream = row_id(row.position, row.stream)
            is_fenced = epoch is not None and bool(held) and epoch < held[0][2]
            if not held or held[0][0] != checkpoint or is_fenced or stream not in aside:
                return None
            aside.remove(stream)
            changed = yield from folded(self._tables, late, build, aside)
            if stream in aside:
                raise damage_of(row)
            version = late[-1].version + 1 if late else row.version
            after = msgspec.structs.replace(row, version=version, mended=is_last)
            changed.setdefault(ASIDE, {})[stream] = after
            yield from _write(build, changed, seal)
            return after

        return await self._write(write)

    # Builds.

    async def reset(self) -> None:
        """Begin an empty build in the place of this one; the next page is the log's first."""
        await self._find(self._build or await self._found())

    async def retire(self) -> None:
        """Drop tables that no process uses; called now and then after catching up."""
        now = time.monotonic()
        if now - self._retired_at < NOTE_EVERY_S:
            return
        self._retired_at = now

        def drop(_: Build) -> Work[None]:
            yield _LOCK
            for retired in (yield _RETIRE, self._version, GRACE_S):
                log.info("views_retired", version=retired[0], build=retired[1])
            yield from self._drop_unused()

        await self._write(drop)

    async def drop_shadows(self) -> None:
        """Drop the builds of this version that do not serve."""

        def drop(_: Build) -> Work[None]:
            yield _LOCK
            yield _FORGET_SHADOWS, self._version
            yield from self._drop_unused()

        await self._write(drop)

    async def other_rights(self, shadow: "Views") -> str | None:
        """Return the owners of these tables if *shadow* has other owners or grants."""
        theirs = shadow._build or await shadow._found()  # noqa: SLF001 - of this class
        names = [table.name for table in self._tables]
        return await self._with_build(
            lambda build: self._database.other_rights(build, theirs, names)
        )

    async def take_over(self, page: Sequence[RecordedEvent], seal: SealBody) -> bool:
        """Let this shadow serve in the place of the build that does.

        In one transaction, in which the serving build does not move on: the events of *page* up
        to its checkpoint are applied here, then readers are sent to these tables.

        Returns:
            Whether that was done; else *page* does not lead up to that checkpoint.
        """

        def write(build: Build) -> Work[bool]:
            yield _LOCK
            held = yield _HOLD_SERVING, self._version
            if not held:
                return False
            number, position, epoch = held[0]
            missing = [each for each in page if each.position <= position]
            if (yield from self._apply(build, missing, seal, None)) != position:
                return False
            yield _FORGET, self._version, number
            yield _SERVE, *build, epoch
            return True

        return await self._write(write)

    async def _write(self, work: Callable[[Build], Work[T]]) -> T:
        return await self._with_build(lambda build: self._database.transact(work(build)))

    async def _with_build(self, work: Callable[[Build], Awaitable[T]]) -> T:
        """Run *work* on the build that serves, once more if another one took its place."""
        build = self._build or await self._found()
        try:
            return await work(build)
        except BuildGone as error:
            if await self._find(build):
                log.warning("views_lost", error=str(error))
                raise _rebuilt() from error
        except msgspec.MsgspecError as error:  # of a row of this build
            log.warning("views_damaged", error=str(error))
            await self._find(build)
            raise _rebuilt() from error
        return await work(await self._found())

    async def _found(self) -> Build:
        if self._build is None:
            await self._find(None)
        assert self._build is not None, "it was found or begun"
        return self._build

    async def _find(self, lost: Build | None) -> bool:
        """Find the build that serves, unless that is *lost*; return whether one was begun."""

        def find() -> Work[tuple[Build, bool]]:
            yield _LOCK
            yield (BUILDS,)
            found = None if self._shadow else (yield from self._serving(lost))
            return (found, False) if found else ((yield from self._begin()), True)

        if self._shadow and lost is not None:
            raise LogUnavailable("the shadow build of the views was dropped; begin again")
        before = self._build
        try:
            build, is_new = await self._database.transact(find())
        except BuildGone:  # the file was damaged, and is a new one now
            build, is_new = await self._database.transact(find())
        self._build = build
        if before is not None and before != build:
            if not is_new:
                log.info("views_replaced", build=build.number)
            for listener in self._replaced:
                listener()
        return is_new

    def _serving(self, lost: Build | None) -> Work[Build | None]:
        found = yield _SERVING, self._version
        if not found:
            return None
        build = Build(self._version, found[0][0])
        names = {build.table(table.name) for table in self._tables}
        if build != lost and names <= (yield from self._stored_tables()):
            yield _USED, *build
            return build
        yield _FORGET, *build
        return None

    def _begin(self) -> Work[Build]:
        prefix = Build(self._version, 0).prefix.removesuffix("0")
        tables = yield from self._stored_tables()
        prefixes = [prefix_of(table) or "" for table in tables]
        used = [int(each.removeprefix(prefix)) for each in prefixes if each.startswith(prefix)]
        build = Build(self._version, max(used, default=0) + 1)
        for table in self._tables:
            name = build.table(table.name)
            yield (_MAKE.format(table=name),)
            yield (_MAKE_INDEX.format(table=name),)
        yield _ENTER, *build, not self._shadow
        yield from self._drop_unused()
        return build

    def _drop_unused(self) -> Work[None]:
        """Drop the tables of builds that are not entered."""
        used = {Build(*each).prefix for each in (yield (_ENTERED,))}
        for table in (yield from self._stored_tables()):
            prefix = prefix_of(table)
            if prefix is not None and prefix not in used:
                yield (f"DROP TABLE {table}",)

    def _stored_tables(self) -> Work[set[str]]:
        return {name for (name,) in (yield (self._database.tables,))}


def _note_use(build: Build) -> Work[None]:
    yield _USED, *build


def _set_aside(build: Build) -> Work[set[str]]:
    """Return the ids of the streams that are set aside."""
    found = yield _IDS_OF_TAG.format(table=build.table(ASIDE.name)), SET_ASIDE
    return {row_id for (row_id,) in found}


def _write(build: Build, changed: TableRows, seal: SealBody) -> Work[None]:
    """Insert or replace the rows that changed, each once."""
    for table, rows in changed.items():
        stored = sorted(
            (each_id, table.tag(row), msgspec.json.encode(table.sealed(row, seal)))
            for each_id, row in rows.items()
        )
        yield Many(_PUT.format(table=build.table(table.name)), stored)


def _rebuilt() -> LogUnavailable:
    return LogUnavailable("the views were damaged; they are rebuilt from the log")


def named(recorded: RecordedEvent) -> str:
    """Return what distinguishes *recorded* from an event of another history at its position.

    Nothing in it is personal, so that it stays the same when a person is erased; nor is the
    version of the event part of it, which differs for a process that upcasts it.
    """
    if isinstance(recorded, UnreadableEvent):
        return UNREADABLE
    event = recorded.event
    kind = topic_of(event).rpartition(".")[0]
    return f"{recorded.stream} {recorded.version} {kind} {event.at.isoformat()}"


def check_since(position: int, since: int) -> None:
    """Check that views at *position* reflect *since*.

    Raises:
        LogUnavailable: They do not.
    """
    if position < since:
        raise LogUnavailable(f"the views are rebuilt: at {position}, they were at {since}")


def following_on(page: Sequence[RecordedEvent], checkpoint: int) -> Sequence[RecordedEvent]:
    """Return what of *page* comes after *checkpoint*; empty if that leaves a gap."""
    if page and page[0].position == checkpoint + 1:
        return page
    new = [recorded for recorded in page if recorded.position > checkpoint]
    return new if new and new[0].position == checkpoint + 1 else ()


#: Which builds there are.
BUILDS = """
CREATE TABLE IF NOT EXISTS view_builds (
    version TEXT NOT NULL,
    build BIGINT NOT NULL,
    serving BOOLEAN NOT NULL,
    position BIGINT NOT NULL,
    last_event TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    used_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (version, build)
)
"""
_MAKE = """
CREATE TABLE {table} (id TEXT COLLATE "C" PRIMARY KEY, tag TEXT, row BYTEA NOT NULL)
"""
_MAKE_INDEX = "CREATE INDEX {table}_tag ON {table} (tag) WHERE tag IS NOT NULL"
_ENTER = "INSERT INTO view_builds VALUES ($1, $2, $3, 0, '', 0, clock_timestamp())"
_ENTERED = "SELECT version, build FROM view_builds"
_SERVING = "SELECT build FROM view_builds WHERE version = $1 AND serving"
_USED = "UPDATE view_builds SET used_at = clock_timestamp() WHERE version = $1 AND build = $2"
_FORGET = "DELETE FROM view_builds WHERE version = $1 AND build = $2"
_FORGET_SHADOWS = "DELETE FROM view_builds WHERE version = $1 AND NOT serving"
_RETIRE = """
DELETE FROM view_builds
WHERE NOT (version = $1 AND serving)
    AND used_at < to_timestamp(date_part('epoch', clock_timestamp()) - $2)
RETURNING version, build
"""
_CHECKPOINT = "SELECT position, last_event FROM view_builds WHERE version = $1 AND build = $2"
# The commit is not waited for: what is lost with the machine is applied again.
_HOLD = """
SELECT position, last_event, epoch, set_config('synchronous_commit', 'off', true)
FROM view_builds WHERE version = $1 AND build = $2 FOR UPDATE
"""
_HOLD_SERVING = """
SELECT build, position, epoch FROM view_builds WHERE version = $1 AND serving FOR UPDATE
"""
_SERVE = """
UPDATE view_builds SET serving = true, epoch = $3 WHERE version = $1 AND build = $2
"""
_MOVE = """
UPDATE view_builds
SET position = $3, last_event = $4, used_at = clock_timestamp(),
    epoch = CASE WHEN epoch < $5 THEN $5 ELSE epoch END
WHERE version = $1 AND build = $2
RETURNING pg_notify('cs_views', '')
"""
GET = """
SELECT s.position, r.row FROM view_builds AS s LEFT JOIN {table} AS r ON r.id = $3
WHERE s.version = $1 AND s.build = $2
"""
_PUT = """
INSERT INTO {table} (id, tag, row) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row
"""
_ROWS = """
SELECT s.position, r.id, r.tag, r.row FROM view_builds AS s
LEFT JOIN (SELECT id, tag, row FROM {table} {which}) AS r ON true
WHERE s.version = $1 AND s.build = $2 ORDER BY r.id
"""
_IDS_OF_TAG = "SELECT id FROM {table} WHERE tag = $1"
