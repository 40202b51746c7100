"""What a projection is: a pure function from events to rows."""

from collections.abc import Callable
from typing import Protocol

from cs.eventlog.port import Recorded
from cs.projections.rows import Rows

#: Seals a ready-made body under the data key of that name; prepared before the event
#: that needs it is applied.
SealBody = Callable[[str, bytes], bytes]


class Projection(Protocol):
    """Turns events into rows.  Change `apply`, and raise ``version``: views are rebuilt."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    def apply(self, rows: Rows, recorded: Recorded, seal: SealBody) -> None:
        """Change *rows* by one event.  Never refuses."""
