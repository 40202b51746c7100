"""Answers of paid calls that are remembered hold people too."""

from collections.abc import Awaitable, Callable, Iterable

from cs.eventlog.errors import LogUnavailable
from cs.paid_calls.errors import CallsUnavailable

#: Forgets what was answered for lookups; returns how many answers that was.
ForgetCalls = Callable[[Iterable[str]], Awaitable[int]]


async def forget_answers(forget_calls: ForgetCalls | None, lookups: Iterable[str]) -> None:
    """Forget the answers to paid calls for *lookups*, if any are remembered.

    Raises:
        LogUnavailable: They are away.
    """
    if forget_calls is None:
        return
    try:
        await forget_calls(lookups)
    except CallsUnavailable as error:
        raise LogUnavailable(f"answers of paid calls: {error}") from error
