"""For which lookup the current task works, so that plug-ins need not carry it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Set around a stage's work; tasks started within inherit it.
CURRENT_LOOKUP: ContextVar[str | None] = ContextVar("lookup_in_hand", default=None)


@contextmanager
def set_current_lookup(lookup: str) -> Iterator[None]:
    token = CURRENT_LOOKUP.set(lookup)
    try:
        yield
    finally:
        CURRENT_LOOKUP.reset(token)
