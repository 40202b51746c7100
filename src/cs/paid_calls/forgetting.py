"""Forgetting paid calls: each user of a register also keeps it short."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from structlog import get_logger

from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import PAGE, CallRegister
from cs.runtime.private_files import DeletedDataRemains

log = get_logger()

#: How often old calls are looked for; a call outlives its hour by at most this.
EVERY_S = 60.0


@asynccontextmanager
async def forget_expired_calls(
    register: CallRegister, *, every_s: float = EVERY_S
) -> AsyncIterator[None]:
    """Forget what is old in *register*, now and from time to time, until left."""
    task = asyncio.create_task(_forget(register, every_s), name="forgetting-calls")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _forget(register: CallRegister, every_s: float) -> None:
    while True:
        try:
            while await register.forget_old() == PAGE:
                pass
        except (CallsUnavailable, DeletedDataRemains) as error:
            log.warning("paid_calls_not_forgotten", why=str(error))
        await asyncio.sleep(every_s)
