"""What a plug-in answered, held to what its class declares: making a struct checks nothing."""

from datetime import datetime
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


def as_declared(answer: object, kind: type[T]) -> T:
    """Return *answer*, a *kind*, with every value in it of its declared type.

    A list becomes a tuple and a word the member of its enumeration, as when they are read
    from a message.

    Raises:
        TypeError: It is no *kind*, or holds what no message can.
        msgspec.ValidationError: A value in it is of another type than declared.
    """
    if not isinstance(answer, kind):
        raise TypeError(f"it answered {type(answer).__name__}, no {kind.__name__}")
    return msgspec.convert(msgspec.to_builtins(answer, builtin_types=(datetime,)), kind)
