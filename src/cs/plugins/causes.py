"""Why a plug-in failed, in words that may stand in logs and evidence: no secret, no mailbox."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from cs.domain.cause import one_line
from cs.paid_calls.service import ServiceCheck
from cs.plugins.as_declared import as_declared
from cs.plugins.plugin_settings import without_secrets


def loggable(text: str, settings: Mapping[str, Any]) -> str:
    """Return *text* as it may be logged: one line, bounded, no secret, no mailbox."""
    return one_line(without_secrets(text, settings))


def cause_of(error: BaseException, settings: Mapping[str, Any]) -> str:
    """Return why *error* was raised, as it may be logged.

    >>> cause_of(ValueError("jane@acme.test: no"), {})
    'ValueError: [mailbox] no'
    """
    try:
        words = str(error)
    except Exception:  # noqa: BLE001  somebody else's __str__
        words = ""
    name = type(error).__name__
    return loggable(f"{name}: {words}" if words else name, settings)


def is_ours(error: BaseException) -> bool:
    """Return whether *error* ends us, and is not a plug-in's own.

    A plug-in that raises `asyncio.CancelledError` or `SystemExit` by itself has only failed.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    if isinstance(error, BaseExceptionGroup):
        return any(is_ours(each) for each in error.exceptions)
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


async def checked_service(
    plugin: object, settings: Mapping[str, Any], failed: str, without: ServiceCheck
) -> ServiceCheck:
    """Let *plugin* check the service that it asks.

    Args:
        plugin: A source or verifier; it may have a method ``check``.
        settings: Its own, whose secrets are masked.
        failed: How a check ended that raised.
        without: What is returned for a plug-in that has no check.
    """
    check = getattr(plugin, "check", None)
    if check is None:
        return without
    try:
        found = as_declared(await check(), ServiceCheck)
    except BaseException as error:
        if is_ours(error):
            raise
        return ServiceCheck(ended=failed, why=cause_of(error, settings))
    return replace(found, why=loggable(found.why, settings) if found.why else None)
