"""Projections: tables whose rows are folded from events, one row by one event."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent

R = TypeVar("R", bound=msgspec.Struct)

#: Seals a body under the data key of that name.
SealBody: TypeAlias = Callable[[str, bytes], bytes]


@dataclass(frozen=True, eq=False)
class Table(Generic[R]):
    """One kind of row, by id.

    Change `fold`, and raise the version of its projection: the rows are made again.

    Attributes:
        name: Small letters only.
        row: The type of its rows.
        reads: The types of events that change a row.
        key: Returns the id of the row that such an event is about; ``None``: of none.
        fold: Returns the row after an event; ``None`` or the row before: it changes nothing.
            Pure, and refuses no event.
        tag: Returns the value that rows are looked up by as a group; ``None``: by none.
        sealed: Returns a folded row as it is stored, with what is personal in it sealed.
    """

    name: str
    row: type[R]
    reads: frozenset[type[Event]]
    key: Callable[[RecordedEvent], str | None]
    fold: Callable[[R | None, RecordedEvent], R | None]
    tag: Callable[[R], str | None] = lambda _: None
    sealed: Callable[[R, SealBody], R] = lambda row, _: row

    def decode(self, data: bytes) -> R:
        """Return the row in *data*.

        Raises:
            msgspec.MsgspecError: It is damaged.
        """
        try:
            return msgspec.json.decode(data, type=self.row)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(f"a row of {self.name} is damaged") from error


class Projection(NamedTuple):
    """Tables that share a version; raise it when their rows come to mean something else."""

    name: str
    version: int
    tables: Sequence[Table[Any]]
