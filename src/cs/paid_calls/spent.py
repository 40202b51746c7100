"""What the piece of work in hand has spent so far, by service."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SPENT: ContextVar[dict[str, int] | None] = ContextVar("spent_in_hand", default=None)


@contextmanager
def count_spent() -> Iterator[dict[str, int]]:
    """Yield millionths of a dollar by service, counted as calls made within are settled."""
    spent: dict[str, int] = {}
    token = _SPENT.set(spent)
    try:
        yield spent
    finally:
        _SPENT.reset(token)


def note_spent(service: str, micros: int) -> None:
    spent = _SPENT.get()
    if spent is not None and micros:
        spent[service] = spent.get(service, 0) + micros
