"""The admin port: health, for whoever runs the service.  Never under ``/v1``."""

from collections.abc import Collection
from dataclasses import dataclass

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from cs.admin.clock_routes import ClockAdvancer, clock_routes
from cs.admin.docs_page import docs_routes
from cs.admin.known_hosts import KnownHosts
from cs.admin.readiness import LAG, ReadinessCheck
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import EventLog
from cs.keystore.errors import KeysUnavailable
from cs.keystore.port import KeyStore
from cs.pipeline.misconfiguration import Misconfiguration
from cs.projections.follower import Follower

#: A name that no data key has, so that none is kept open of it and the store is asked.
_NO_KEY = "readyz"


@dataclass(frozen=True)
class Health:
    events: EventLog
    views: Follower
    keys: KeyStore
    misconfiguration: Misconfiguration | None = None

    async def check(self) -> tuple[bool, dict[str, object]]:
        """Return whether calls can be answered, and what that rests on."""
        try:
            head = await self.events.head()
        except LogUnavailable as error:
            return False, {"ready": False, "log": str(error)}
        try:
            await self.keys.find([_NO_KEY])
        except KeysUnavailable as error:
            return False, {"ready": False, "log": "ok", "keys": str(error)}
        lag = max(0, head - self.views.position)
        held = self.views.gate.why  # whoever else follows the log is held there as well
        wrong = self.misconfiguration or Misconfiguration()
        ready = lag <= LAG and held is None and not wrong.blocks
        body: dict[str, object] = {
            "ready": ready,
            "log": "ok",
            "keys": "ok",
            "head": head,
            "views_behind": lag,
        }
        if lost := self.keys.lost.keys:  # shown, and no reason not to answer
            body["keys_lost"] = lost
        if held is not None:
            body["held"] = held
        if (damaged := self.views.set_aside.why) is not None:
            body["set_aside"] = damaged  # everything else can be answered: it stays ready
        if wrong.reasons:
            body["misconfigured"] = wrong.reasons
        return ready, body


def build(
    health: ReadinessCheck,
    clock_advancer: ClockAdvancer | None = None,
    names: Collection[str] = (),
) -> ASGIApp:
    """Return the application of the admin port.

    ``/healthz``: 200 while the process answers.  ``/readyz``: 200 when it can serve calls,
    503 with the reason when it cannot.  ``/docs``: the description of the API, for people.
    ``/sandbox/clock`` only with *clock_advancer*.  It is called by an address, ``localhost``
    or one of *names*.
    """

    async def healthz(_: Request) -> Response:
        return _json({"ok": True}, 200)

    async def readyz(_: Request) -> Response:
        ready, why = await health.check()
        return _json(why, 200 if ready else 503)

    routes = [Route("/healthz", healthz), Route("/readyz", readyz), *docs_routes()]
    app = Starlette(routes=routes + (clock_routes(clock_advancer) if clock_advancer else []))
    return KnownHosts(app, names)


def _json(body: dict[str, object], status: int) -> Response:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json"
    )
