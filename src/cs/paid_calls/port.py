"""The register of calls that are paid for: none is made twice for one lookup.

A message may come twice, and a worker may die with a call under way.  So a call is written
down, with a lease, before it is made, and its answer beside it as soon as there is one
(docs/decisions/0012-a-paid-call-is-made-once.md).
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Protocol

import msgspec

#: How long a call and its answer are remembered: as long as the topics whose messages may
#: come again, and longer than any lookup lasts.
RETENTION = timedelta(hours=1)
#: Calls forgotten in one go.
PAGE = 1_000


class PaidCall(msgspec.Struct, frozen=True):
    """One question to one provider for one lookup, whichever attempt asks it."""

    lookup: str
    provider: str
    request: bytes  # all that is asked, in one form


class CallLease(msgspec.Struct, frozen=True):
    """The caller holds the lease: it makes the call, nobody else does.

    Attributes:
        holder: Tells this lease of the call from others.
        idempotency_key: 32 hexadecimal digits; the same each time the call is begun.
    """

    call: PaidCall
    holder: str
    idempotency_key: str


class KnownAnswer(msgspec.Struct, frozen=True):
    answer: bytes


class CallInFlight(msgspec.Struct, frozen=True):
    """Somebody else makes the call; their lease lasts that long yet."""

    left_s: float


class LostAnswer(msgspec.Struct, frozen=True):
    """The call was begun, its lease is over, and there is no answer."""


class RememberedCall(msgspec.Struct, frozen=True):
    """A call that is remembered; what it was answered is sealed, and not read here.

    Attributes:
        answered: Whether an answer is remembered with it.
        left_s: For how long it is remembered yet; it may stay some minutes longer.
    """

    lookup: str
    provider: str
    answered: bool
    left_s: float


BeginResult = CallLease | KnownAnswer | CallInFlight | LostAnswer


class CallRegister(Protocol):
    """Every method may raise `CallsUnavailable`."""

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        """Ask to make *call*; a lease that is given is durable on return.

        Args:
            call: What is asked.
            lease_s: How long others leave it to the caller.
            again: Give a new lease of a call that is `LostAnswer`: asked with the same
                idempotency key, the provider does not charge for it twice.
        """

    async def answer(self, begun: CallLease, answer: bytes) -> None:
        """Remember *answer*; the first one stays.  Quiet for a call that was erased."""

    async def leave(self, begun: CallLease) -> None:
        """Give the lease up without an answer; quiet if it is not held any more."""

    async def undo(self, begun: CallLease) -> None:
        """Take it back: the call was not made.  Quiet if the lease is not held any more."""

    async def forget_old(self) -> int:
        """Delete calls begun more than `RETENTION` ago, at most `PAGE`; return how many.

        Raises:
            DeletedDataRemains: They are deleted, but bytes of them are left.
        """

    async def remembered(self, lookups: Iterable[str]) -> Sequence[RememberedCall]:
        """Return what is remembered of calls for *lookups*, the oldest first."""

    async def erase(self, lookups: Iterable[str]) -> int:
        """Delete every call of *lookups*; return how many.  Their files keep no byte.

        Raises:
            DeletedDataRemains: They are deleted, but bytes are left of them, or of others
                that were deleted before.
        """
