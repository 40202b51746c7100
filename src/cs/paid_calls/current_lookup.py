"""For which lookup the current task works, so that plug-ins need not carry it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Set around a stage's work; tasks started within inherit it.
LOOKUP_IN_HAND: ContextVar[str | None] = ContextVar("lookup_in_hand", default=None)


@contextmanager
def working_for(lookup: str) -> Iterator[None]:
    token = LOOKUP_IN_HAND.set(lookup)
    try:
        yield
    finally:
        LOOKUP_IN_HAND.reset(token)
