"""Where spans go: nowhere, unless the setting ``traces_to`` names a place."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.metrics.traces import NO_TRACES, Traces
from cs.settings import BadSettings, Settings


@asynccontextmanager
async def open_traces(settings: Settings, role: str) -> AsyncIterator[Traces]:
    """Yield where the spans of *role* go; on leaving what is left is sent.

    Raises:
        BadSettings: The setting names a place, and the extra ``otel`` is not installed.
    """
    if settings.traces_to is None:
        yield NO_TRACES
        return
    try:
        # Here: nobody pays for the library who does not use it.
        from cs.assembly.otel_traces import OtelTraces  # noqa: PLC0415
    except ImportError as error:
        raise BadSettings(
            f"traces_to: {error.name} is not installed; pip install 'contact-search[otel]'"
        ) from error
    traces = OtelTraces(settings.traces_to, role)
    try:
        yield traces
    finally:
        await asyncio.to_thread(traces.close)
