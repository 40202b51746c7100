"""Errors of several tasks come as a group, and groups may hold groups."""

from collections.abc import Iterator
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def leaf_errors(group: BaseExceptionGroup[E]) -> Iterator[E]:
    """Yield the errors of *group* and of the groups in it, in order.

    >>> inner = ExceptionGroup("inner", [ValueError("b")])
    >>> [str(error) for error in leaf_errors(ExceptionGroup("outer", [KeyError(1), inner]))]
    ['1', 'b']
    """
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaf_errors(error)
        else:
            yield error
