"""The canary: a search with a key of the operator's, at an interval, as a caller makes it."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NoReturn

from structlog import get_logger

from cs.api.api import Api
from cs.client import AsyncClient, Failed, Search
from cs.client.retries import NO_RETRIES
from cs.domain.api_key import hash_key, well_formed
from cs.domain.contact import Query
from cs.domain.key import CANARY
from cs.domain.names.brand_names import clean_brand
from cs.operations.operator import Operator
from cs.settings import BadSettings, Settings
from cs.settings.secret_files import read_secret_line

log = get_logger()

#: What a search may take in addition to its deadline.
GRACE_S = 60.0


class WrongLabel(Exception):
    """Reports would count the searches of this key, which has another label.

    Attributes:
        code: As of errors of the API.
    """

    code = "wrong_label"


def canary_of(
    settings: Settings,
) -> Callable[[Api, str], Coroutine[Any, Any, NoReturn]] | None:
    """Return what searches with an API, at an address, at an interval; ``None``: none is to.

    Raises:
        BadSettings: The settings do not go together, or there is no key in the file.
    """
    file = settings.canary_key_file
    if file is None:
        for name in ("canary_brand", "canary_live", "canary_url"):
            if getattr(settings, name):
                raise BadSettings(f"{name}: needs canary_key_file, a file with an API key")
        return None
    if settings.canary_brand is None:
        raise BadSettings("canary_key_file: needs canary_brand, the brand to search")
    secret = read_secret_line(file, "canary_key_file")
    if not well_formed(secret):
        raise BadSettings(f"canary_key_file: {file}: this is no API key of this service")
    return partial(_run, settings, secret)


async def _run(settings: Settings, secret: str, api: Api, base_url: str) -> NoReturn:
    metrics, succeeded_at = api.metrics, api.metrics.canary_succeeded_at.of()
    metrics.canary_every.of().set(settings.canary_every_s)
    succeeded_at.set_to_current_time()
    while True:
        began, cached = time.monotonic(), False
        try:
            found = await _search(settings, secret, api, base_url)
            outcome = found.reason if isinstance(found, Failed) else found.status
            cached = bool(getattr(found, "cached", None))
        except Exception as error:  # noqa: BLE001  the next search may succeed
            outcome = getattr(error, "code", "error")
            log.warning(
                "canary_failed", outcome=outcome, why=f"{type(error).__name__}: {error}"
            )
        took = metrics.canary_seconds.of(outcome, "yes" if cached else "no")
        took.observe(time.monotonic() - began)
        if outcome == "done":
            succeeded_at.set_to_current_time()
        await asyncio.sleep(settings.canary_every_s)


async def _search(settings: Settings, secret: str, api: Api, base_url: str) -> Search:
    """Search once, as a caller without patience; return how that ended.

    Raises:
        WrongLabel: Of the key.
        ClientError: As of every call.
    """
    brand, timeout_s = clean_brand(settings.canary_brand or ""), settings.lookup_deadline_s
    async with (
        asyncio.timeout(timeout_s + 2 * GRACE_S),
        AsyncClient(base_url, secret, patience=NO_RETRIES) as client,
    ):
        key_id = await api.keys.find(hash_key(secret))
        if key_id is not None and (await api.keys.read(key_id)).label != CANARY:
            raise WrongLabel(f"make the key with: cs keys create --label {CANARY}")
        if settings.canary_live:
            await Operator(api.streams, api.clock, CANARY).forget_brand(Query(brand))
        return await client.contacts.search(brand, timeout_s=timeout_s + GRACE_S)
