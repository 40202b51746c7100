"""Where a service in one process remembers the calls that cost money: a file in its folder."""

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial

from cs.assembly.folder_keys import folder_of, open_key_store
from cs.keystore.wrapping import PAID_CALLS
from cs.metrics.metrics import Metrics
from cs.paid_calls.forgetting import forget_expired_calls
from cs.paid_calls.paid import PaidCalls, PaidOnce
from cs.paid_calls.register import CallRegister, RememberedCall
from cs.settings import Settings

#: Paid calls of the last hour; can be deleted while the service is stopped, and then those of
#: running searches may be made again.
CALLS_FILE = "calls.db"


@asynccontextmanager
async def open_paid_calls(
    settings: Settings, metrics: Metrics | None = None
) -> AsyncIterator[PaidCalls]:
    """Yield what makes paid calls, and remembers them in the data folder of *settings*.

    The file is made at the first such call: most services never make one.
    """
    async with (
        CallRegister.in_file(
            settings.data_dir / CALLS_FILE, partial(_calls_key, settings)
        ) as calls,
        forget_expired_calls(calls),
    ):
        yield PaidOnce(calls, metrics=metrics)


async def erase_paid_calls(settings: Settings, lookups: Iterable[str]) -> int:
    """Forget the paid calls of *lookups* in the data folder of *settings*; return how many.

    Raises:
        CallsUnavailable: They cannot be forgotten now.
    """
    file = settings.data_dir / CALLS_FILE
    if not os.access(file, os.F_OK):
        return 0

    async with CallRegister.in_file(file, partial(_calls_key, settings)) as calls:
        return await calls.erase(lookups)


async def remembered_paid_calls(
    settings: Settings, lookups: Iterable[str]
) -> Sequence[RememberedCall]:
    """Return what is remembered of paid calls for *lookups* in the data folder.

    Raises:
        CallsUnavailable: They cannot be read now.
    """
    file = settings.data_dir / CALLS_FILE
    if not os.access(file, os.F_OK):
        return ()
    async with CallRegister.in_file(file, partial(_calls_key, settings)) as calls:
        return await calls.remembered(lookups)


def _calls_key(settings: Settings) -> bytes:
    keys = open_key_store(folder_of(settings, make=False))
    try:
        return keys.stored_secret(PAID_CALLS)
    finally:
        keys.close()
