"""What a projection is: a pure function from events to rows."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent
from cs.projections.rows import Rows, Table

#: Seals a ready-made body under the data key of that name; prepared before the event
#: that needs it is applied.
SealBody = Callable[[str, bytes], bytes]


class Projection(Protocol):
    """Turns events into rows.

    Change `apply`, and raise ``version``: its rows, and no others, are made again from the log.

    Attributes:
        name: Small letters only.
        version: Raised whenever its rows come to mean something else.
        tables: Of its rows; no other projection puts any there.
        reads: The types of events that it makes anything of; ``None``: it is given all.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def tables(self) -> Sequence[Table[Any]]: ...

    @property
    def reads(self) -> frozenset[type[Event]] | None: ...

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        """Change *rows* by one event.  Never refuses."""
