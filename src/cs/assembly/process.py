"""A process of the service: its ports, metrics and traces, and settings for its world."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from ipaddress import ip_network
from typing import TYPE_CHECKING, NoReturn

import msgspec
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from cs.admin.app import RecordBounces
from cs.admin.health import Readiness
from cs.admin.sandbox_clock import ClockAdvancer
from cs.assembly.settings_of_plugins import of_verifier
from cs.domain.service import World
from cs.metrics.metrics import Metrics
from cs.metrics.traces import NO_TRACES, Traces
from cs.runtime.coordination import in_background
from cs.settings import BadSettings, Settings

if TYPE_CHECKING:
    from cs.api.api import Api

#: Where mail exchangers of the real world listen (RFC 5321, 4.5.4.2).
SMTP_PORT = 25
#: Between two measurements of the event loop's delay.
DELAY_EVERY_S = 0.25
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


class RunningRole(msgspec.Struct, frozen=True):
    """A role that runs, as its ports serve it.

    Attributes:
        ready: Answers ``/readyz`` and ``/metrics``.
        app: The API; only of ``cs api`` and ``cs serve``, as the next two.
        api: Its parts.
        clock_advancer: Moves a sandbox's clock.
        bounces: Records bounces; only of ``cs process-manager`` and ``cs serve``.
        console: The routes of the console; only of ``cs serve`` and ``cs console``.
    """

    ready: Readiness
    app: ASGIApp | None = None
    api: "Api | None" = None
    clock_advancer: ClockAdvancer | None = None
    bounces: RecordBounces | None = None
    console: Sequence[BaseRoute] = ()


@asynccontextmanager
async def measured_process(metrics: Metrics, role: str, world: World) -> AsyncIterator[None]:
    """Measure this process, which is of *role*, until left."""
    metrics.info.of(role, version("contact-search"), world).set(1)
    async with in_background(_measure_loop_delay(metrics), "loop-delay"):
        yield


async def _measure_loop_delay(metrics: Metrics) -> NoReturn:
    """Measure how late the event loop wakes tasks: work that blocks it delays all of them."""
    loop = asyncio.get_running_loop()
    late_s = metrics.loop_late_seconds.of()
    while True:
        due = loop.time() + DELAY_EVERY_S
        await asyncio.sleep(DELAY_EVERY_S)
        late_s.observe(loop.time() - due)


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
        # Here: a process that does not use the library does not load it.
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


def check_world(settings: Settings, world: World) -> None:
    """Pass if *settings* go with *world*.

    A live log must get no answers of a made-up world: its "no people" would be stored as
    established.

    Raises:
        BadSettings: *world* is live and one is for a sandbox only.
    """
    if world == "sandbox":
        return
    port = of_verifier(settings, "smtp")["port"]
    if port != SMTP_PORT:
        _only_in_a_sandbox("smtp_port", f"{SMTP_PORT}, not {port}")
    for text in settings.allow_networks:
        network = ip_network(text)
        if any(network.overlaps(own) for own in LOOPBACK if own.version == network.version):
            _only_in_a_sandbox("allow_networks", f"no loopback addresses, not {text}")


def _only_in_a_sandbox(name: str, right: str) -> NoReturn:
    raise BadSettings(f"{name}: {right}: that is for a sandbox; serve with --sandbox")


def insecure_console(settings: Settings, world: World) -> Mapping[str, Sequence[str]]:
    """Return that the console answers calls from elsewhere without TLS, if it does."""
    if world == "sandbox" or not (settings.console and settings.insecure_console):
        return {}
    return {"console": ["calls from elsewhere without TLS"]}
