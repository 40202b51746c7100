"""Rows of facts, as they come (`cs.history.export.fact_columns`)."""

from collections.abc import Callable, Mapping
from typing import Any

from cs.history.export.fact_columns import FACTS
from cs.history.export.reading import OpenPage, ReadEvent

#: Rows by the name of their fact.
Rows = Mapping[str, list[tuple[Any, ...]]]


class FactRows:
    """Facts of events, until they are taken.

    Args:
        who_has: Returns the pseudonym of whoever has a profile.
        reveal: Whether what is personal is written, too.

    Attributes:
        rows: By the name of their fact.
        count: How many there are.
    """

    def __init__(self, who_has: Callable[[str], str], *, reveal: bool = False) -> None:
        self.who_has = who_has
        self.reveal = reveal
        self.rows: Rows = {name: [] for name in FACTS}

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))

    def clear(self) -> None:
        for rows in self.rows.values():
            rows.clear()


#: Writes down what an event of a page says.
Says = Callable[[FactRows, OpenPage, ReadEvent], None]


def of_no_people(says: Callable[[FactRows, ReadEvent], None]) -> Says:
    """Return *says* for an event that says nothing of anybody."""
    return lambda to, _page, read: says(to, read)
