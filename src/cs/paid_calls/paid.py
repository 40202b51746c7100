"""Calls of plug-ins to paid providers: each question of a lookup is paid for once."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from structlog import get_logger

from cs.metrics.metrics import Metrics
from cs.paid_calls.current_work import CURRENT_LOOKUP, calls_noted, note_call
from cs.paid_calls.errors import CallsUnavailable, NotCharged, Unanswered
from cs.paid_calls.problems import not_sent
from cs.paid_calls.register import (
    BeginResult,
    CallInFlight,
    CallLease,
    CallRegister,
    KnownAnswer,
    LostAnswer,
    PaidCall,
)

log = get_logger()

#: A call that takes longer is cut off; the HTTP clients give up after 10 s.
CALL_S = 12.0
#: How long others leave a call to the process that began it.  Longer than a call may take,
#: shorter than the silence after which a dead worker's stage is issued again (20 s).
LEASE_S = 15.0
#: How often an answer that another worker waits for is looked for.
LOOK_EVERY_S = 0.1

#: Makes the call with the idempotency key; returns what is to be remembered.
Make: TypeAlias = Callable[[str], Awaitable[bytes]]


class PaidCalls:
    """Makes calls that cost money, each question of a lookup once.

    Outside the work of a stage there is no lookup and nothing that comes twice: each call
    is made.

    Args:
        register: Looked into before each call; without it each call is made.
        call_s: The longest call.
        lease_s: How long others leave a call to this process.
    """

    def __init__(
        self,
        register: CallRegister | None,
        *,
        call_s: float = CALL_S,
        lease_s: float = LEASE_S,
        metrics: Metrics | None = None,
    ) -> None:
        self._paid_calls = (metrics or Metrics()).paid_calls
        self._register = register
        self._call_s = call_s
        self._lease_s = lease_s

    async def once(
        self, provider: str, request: object, make: Make, *, takes_key: bool = False
    ) -> bytes:
        """Return the provider's answer to *request*, asked at most once a lookup.

        Errors of *make* are passed on.  After `NotCharged`, and if nothing can have been
        sent, the next attempt may ask.  After any other error the call may have been charged,
        and is not repeated.

        Args:
            provider: The provider; the same name for the same account.
            request: The whole question, in any shape that JSON has: equal means the same
                question.  It holds no secrets of the account, which may change.
            make: Asks the provider, within 12 s.
            takes_key: The provider takes an idempotency key, so that a call whose answer
                was lost may be made again with the same key.

        Raises:
            Unanswered: It was asked, and the answer is lost.
            CallsUnavailable: The register is away, so no request was made.
        """
        lookup = CURRENT_LOOKUP.get()
        register = self._register
        if lookup is None or register is None:
            return await make(os.urandom(16).hex())
        call = PaidCall(lookup, provider, msgspec.json.encode(request, order="deterministic"))
        match await self._begin(register, call, again=takes_key):
            case KnownAnswer(answer):
                self._paid_calls.of(provider, "remembered").inc()
                return answer
            case CallLease() as begun:
                return await self._made(register, begun, make)
            case LostAnswer() | CallInFlight():
                self._paid_calls.of(provider, "lost").inc()
                log.warning("paid_call_unanswered", lookup=lookup, provider=provider)
                raise Unanswered(f"{provider} was asked before, and its answer is lost")

    async def _begin(
        self, register: CallRegister, call: PaidCall, *, again: bool
    ) -> BeginResult:
        """Begin *call*; wait for a process that makes it, at most for two leases."""
        until = time.monotonic() + 2 * self._lease_s
        while True:
            found = await register.begin(call, lease_s=self._lease_s, again=again)
            if not isinstance(found, CallInFlight) or time.monotonic() >= until:
                return found
            await asyncio.sleep(min(found.left_s, LOOK_EVERY_S))

    async def _made(self, register: CallRegister, begun: CallLease, make: Make) -> bytes:
        provider = begun.call.provider
        noted, sent = calls_noted(provider), True
        try:
            async with asyncio.timeout(self._call_s):
                answer = await make(begun.idempotency_key)
        except TimeoutError as error:
            await _record(register.leave(begun), begun)
            raise Unanswered(f"{provider} did not answer in time") from error
        except Exception as error:
            sent = not not_sent(error)
            charged = sent and not isinstance(error, NotCharged)
            if sent and not charged:
                self._paid_calls.of(provider, "not_charged").inc()
            await _record((register.leave if charged else register.undo)(begun), begun)
            raise
        finally:
            if sent:
                self._paid_calls.of(provider, "made").inc()
        if calls_noted(provider) == noted:  # by a plug-in that knows no price
            note_call(provider)
        await _record(register.answer(begun, answer), begun)
        return answer


#: Makes each call: for commands that ask once, and tests of plug-ins.
EVERY_TIME = PaidCalls(None)


async def _record(recording: Awaitable[None], begun: CallLease) -> None:
    """Record a result; if the register is away the call stays begun, and is not repeated."""
    try:
        await recording
    except CallsUnavailable as error:
        log.warning(
            "paid_call_not_remembered",
            lookup=begun.call.lookup,
            provider=begun.call.provider,
            why=str(error),
        )
