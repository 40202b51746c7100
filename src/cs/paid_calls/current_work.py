"""The current work of a stage: its lookup, and its calls to services so far.

Plug-ins need not pass either on: tasks that are started within the work inherit both.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

#: The lookup of the current work.
CURRENT_LOOKUP: ContextVar[str | None] = ContextVar("lookup_in_hand", default=None)


@contextmanager
def set_current_lookup(lookup: str) -> Iterator[None]:
    token = CURRENT_LOOKUP.set(lookup)
    try:
        yield
    finally:
        CURRENT_LOOKUP.reset(token)


class ServiceCalls(msgspec.Struct):
    """Calls to one service, and their cost in millionths of a dollar."""

    calls: int = 0
    micros: int = 0


_SPENT: ContextVar[dict[str, ServiceCalls] | None] = ContextVar("spent_in_hand", default=None)


@contextmanager
def count_spent() -> Iterator[Mapping[str, ServiceCalls]]:
    """Yield the calls made within and their cost, by service; it grows as they are settled.

    Of two that are nested only the inner one counts.
    """
    spent: dict[str, ServiceCalls] = {}
    token = _SPENT.set(spent)
    try:
        yield spent
    finally:
        _SPENT.reset(token)


def note_call(service: str) -> None:
    """Count a call to *service* that was made, whether it is charged or not."""
    _add(service, ServiceCalls(calls=1))


def note_spent(service: str, micros: int) -> None:
    """Count *micros*, millionths of a dollar, for a call that `note_call` counted."""
    if micros:
        _add(service, ServiceCalls(micros=micros))


def calls_noted(service: str) -> int:
    """Return how many calls to *service* are counted so far."""
    spent = _SPENT.get() or {}
    return spent[service].calls if service in spent else 0


def _add(service: str, more: ServiceCalls) -> None:
    spent = _SPENT.get()
    if spent is not None:
        so_far = spent.setdefault(service, ServiceCalls())
        so_far.calls += more.calls
        so_far.micros += more.micros
