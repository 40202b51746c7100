"""Rows of views: read from below when first asked for, changed in memory, written at once."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)

#: Table, id, tag and the row as it is stored.
ChangedRow: TypeAlias = tuple[str, str, str | None, bytes]
_encoder = msgspec.json.Encoder()


class Table(Generic[R]):
    """One kind of row, by id.

    ``tag`` gives the value that rows are looked up by as a group, ``None`` for rows that
    are not.
    """

    def __init__(
        self, name: str, row: type[R], tag: Callable[[R], str | None] = lambda _: None
    ) -> None:
        self.name = name
        self.tag = tag
        self._decoder = msgspec.json.Decoder(row)

    def decode(self, data: bytes) -> R:
        """Return the row in *data*.

        Raises:
            msgspec.MsgspecError: It is damaged.
        """
        try:
            return self._decoder.decode(data)
        except (UnicodeDecodeError, RecursionError) as error:
            raise msgspec.DecodeError(f"a row of {self.name} is damaged") from error


class Below(Protocol):
    """Where rows are kept."""

    def row(self, table: str, row_id: str) -> bytes | None: ...


class Rows:
    """Rows as an event's projection sees and changes them."""

    def __init__(self, below: Below) -> None:
        self._below = below
        self._seen: dict[tuple[str, str], msgspec.Struct | None] = {}
        self._changed: dict[tuple[str, str], Table[Any]] = {}

    def get(self, table: Table[R], row_id: str) -> R | None:
        row_key = (table.name, row_id)
        try:
            return self._seen[row_key]  # type: ignore[return-value]  # put there for this table
        except KeyError:
            data = self._below.row(table.name, row_id)
            row = self._seen[row_key] = table.decode(data) if data is not None else None
            return row

    def put(self, table: Table[R], row_id: str, row: R) -> None:
        row_key = (table.name, row_id)
        self._seen[row_key] = row
        self._changed[row_key] = table

    def changes(self) -> Iterator[ChangedRow]:
        """Yield every row changed, as it is now: encoded once, however often it changed."""
        for row_key, table in self._changed.items():
            row = self._seen[row_key]
            if row is not None:
                yield table.name, row_key[1], table.tag(row), _encoder.encode(row)
