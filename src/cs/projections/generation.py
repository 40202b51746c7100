"""A generation of views: the versions of all projections, with tables and a checkpoint.

Another version of one projection is another generation, built beside those that are there.
It begins with copies of the rows of all projections that did not change, as another
generation has them at some position, and replays the changed ones only up to there.  From
there on all are at one position.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256

import msgspec

from cs.eventlog.port import RecordedEvent
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from cs.projections.set_aside import ASIDE

#: How long the tables of a generation stay that nobody uses: longer than an upgrade, or its
#: way back, takes.
GRACE_S = 24 * 3600.0

#: The rows of streams that are set aside are of no projection, and have their own version.
_ASIDE = "aside1"
#: What is noted beside the rows: that they began with copies, and up to where.  A build that
#: does not know of it applies events to copied rows again, and leaves the note when it empties
#: its tables, so that a build that does would pass events over.  In PostgreSQL both may run
#: at once: they must not share tables, so the names of their generations differ.
_COPIES = "copies1"
_ANEW = "_anew-"


class Generation(msgspec.Struct, frozen=True):
    """One that is kept in the same place.

    Attributes:
        name: As `generation` names it.
        position: Of its checkpoint.
        last_event: Which event that is, as `cs.projections.port.named` names it.
    """

    name: str
    position: int
    last_event: str


class CopiedRows(msgspec.Struct, frozen=True):
    """What a generation began with.

    Attributes:
        projections: Names of those whose rows were copied.
        position: Which they reflected.
        last_event: Which event that was.
    """

    projections: Sequence[str] = ()
    position: int = 0
    last_event: str = ""


NO_COPIES = CopiedRows()


def generation(projections: Sequence[Projection]) -> str:
    """Return what names a set of versions; another one is another set of tables."""
    return "_".join([*(f"{p.name}{p.version}" for p in projections), _ASIDE, _COPIES])


def anew_name(name: str, nonce: str) -> str:
    """Return what a set of tables is called that is made anew beside the generation *name*."""
    return f"{name}{_ANEW}{nonce}"


def is_anew(name: str, of: str) -> bool:
    """Return whether *name* is that of a set made anew beside the generation *of*."""
    return name.startswith(f"{of}{_ANEW}")


def table_prefix(name: str) -> str:
    """Return what the names of the tables of the generation *name* begin with."""
    return f"view_{sha256(name.encode()).hexdigest()[:12]}"


def table_names(projections: Iterable[Projection]) -> list[str]:
    """Return the names of all tables of *projections* and of what they share."""
    return [*(table.name for p in projections for table in p.tables), ASIDE.name]


class TableNames:
    """What the tables of the generation of *projections* are called where they are stored.

    Attributes:
        generation: As `generation` names it.
        prefix: What all of them begin with.
        tables: Those of all projections, and of what they share.

    Args:
        projections: All of them.
        name: Of a set that is made anew beside the generation (`anew_name`).
    """

    def __init__(self, projections: Sequence[Projection], name: str | None = None) -> None:
        self.generation = name or generation(projections)
        self.prefix = table_prefix(self.generation)
        self.tables = [self.table(name) for name in table_names(projections)]

    def table(self, name: str) -> str:
        return f"{self.prefix}_{name}"


def unchanged(projections: Sequence[Projection], name: str) -> list[Projection]:
    """Return those of *projections* that the generation *name* has at the same version."""
    versions = name.split("_")
    if _ASIDE not in versions:
        return []
    return [each for each in projections if f"{each.name}{each.version}" in versions]


def to_copy_from(
    projections: Sequence[Projection], others: Iterable[Generation]
) -> list[Generation]:
    """Return those of *others* that have rows to copy, the one that saves most first."""

    def saved(other: Generation) -> tuple[int, int]:
        return (len(unchanged(projections, other.name)), other.position)

    usable = [each for each in others if all(saved(each))]
    return sorted(usable, key=saved, reverse=True)


class CopyPlan(msgspec.Struct, frozen=True):
    """What there is to copy of another generation.

    Attributes:
        projections: Names of those that are unchanged in it.
        tables: Names of their tables.
        is_everything: Whether no projection is left to be made anew.
    """

    projections: Sequence[str]
    tables: Sequence[str]
    is_everything: bool


def copy_plan(projections: Sequence[Projection], name: str) -> CopyPlan:
    """Return what can be copied of the generation *name*."""
    copied = unchanged(projections, name)
    return CopyPlan(
        [each.name for each in copied],
        [table.name for each in copied for table in each.tables],
        len(copied) == len(projections),
    )


def is_complete(position: int, copied_to: int) -> bool:
    """Return whether rows at *position* that began with copies are at one position again.

    Args:
        position: Of the checkpoint.
        copied_to: The position that the copies reflected; 0 without any.
    """
    return position >= max(copied_to, 1)


class _After:
    """A projection for events after those that its copied rows reflect."""

    def __init__(self, projection: Projection, position: int) -> None:
        self.name = projection.name
        self.version = projection.version
        self.tables = projection.tables
        self.reads = projection.reads
        self._projection = projection
        self._position = position

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        if recorded.position > self._position:
            self._projection.apply(rows, recorded, seal)


def after_copies(projections: Sequence[Projection], copies: CopiedRows) -> Sequence[Projection]:
    """Return *projections* for rows that began with *copies*: no event is applied twice."""
    if not copies.projections:
        return projections
    copied: Collection[str] = frozenset(copies.projections)
    return [
        _After(each, copies.position) if each.name in copied else each for each in projections
    ]
