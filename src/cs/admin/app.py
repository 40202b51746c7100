"""The admin port: health and metrics, for whoever runs the service.  Never under ``/v1``."""

from collections.abc import Collection

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from cs.admin.bounce_routes import BounceIntake, bounce_routes
from cs.admin.clock_routes import ClockAdvancer, clock_routes
from cs.admin.docs_page import docs_routes
from cs.admin.known_hosts import KnownHosts
from cs.admin.measures import Measures
from cs.admin.readiness import ReadinessCheck


def build(
    health: ReadinessCheck,
    clock_advancer: ClockAdvancer | None = None,
    names: Collection[str] = (),
    measures: Measures | None = None,
    bounces: BounceIntake | None = None,
) -> ASGIApp:
    """Return the application of the admin port.

    ``/healthz``: 200 while the process answers.  ``/readyz``: 200 when it can serve calls,
    503 with the reason when it cannot.  ``/docs``: the description of the API, for people.
    ``/metrics``, with *measures*: what Prometheus reads.
    ``/sandbox/clock`` only with *clock_advancer*, ``/mailboxes/bounced`` only with *bounces*.
    It is called by an address, ``localhost`` or one of *names*.
    """

    async def healthz(_: Request) -> Response:
        return _json({"ok": True}, 200)

    async def readyz(_: Request) -> Response:
        ready, why = await health.check()
        return _json(why, 200 if ready else 503)

    routes = [Route("/healthz", healthz), Route("/readyz", readyz), *docs_routes()]
    if measures is not None:
        routes.append(_metrics_route(measures))
    if bounces is not None:
        routes += bounce_routes(bounces)
    app = Starlette(routes=routes + (clock_routes(clock_advancer) if clock_advancer else []))
    return KnownHosts(app, names)


def _metrics_route(measures: Measures) -> Route:
    async def metrics(request: Request) -> Response:
        page, media_type = await measures.page(request.headers.get("accept", ""))
        return Response(page, headers={"Content-Type": media_type})

    return Route("/metrics", metrics)


def _json(body: dict[str, object], status: int) -> Response:
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/json"
    )
