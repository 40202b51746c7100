"""What a page in a browser may do to the admin port: nothing, whatever its name points at."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.routing import Route

from cs.admin.app import build
from cs.admin.health import Readiness
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.runtime.clock import SystemClock

NAMES = ("metrics.internal",)
JSON = {"Content-Type": "application/json"}
ADVANCE = b'{"advance": 60}'


async def _keep(_: timedelta) -> None:
    pass


class Moved(ClockAdvancer):
    """Counts how often it was asked to move a clock."""

    def __init__(self) -> None:
        self.clock = SandboxClock(timedelta(), _keep, SystemClock())
        self.times = 0

    async def advance(self, by: timedelta) -> datetime:
        self.times += 1
        return datetime(2026, 1, 1, tzinfo=UTC) + by


def routes() -> list[tuple[str, str]]:
    """Return method and path of everything that the port answers."""
    app = build(Readiness(), Moved())
    found = []
    for route in app.routes:
        assert isinstance(route, Route)
        found += [(method, route.path) for method in sorted(route.methods or ())]
    return found


async def call(
    moved: Moved, method: str, path: str, host: str, **more: bytes | dict[str, str]
) -> httpx.Response:
    headers = {"Host": host, **dict(more.pop("headers", {}))}  # type: ignore[arg-type]
    transport = httpx.ASGITransport(build(Readiness(), moved, NAMES))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example",
        "rebound.example:8081",
        "localhost.rebound.example",
        "127.0.0.1.rebound.example",
        "127.0.0.1@rebound.example",
        "metrics.internal.rebound.example",
        "[::1].rebound.example",
        "127.0.0.1:80@rebound.example",
        "2130706433",
        "",
    ],
)
@pytest.mark.parametrize(("method", "path"), routes())
async def test_no_route_answers_under_a_foreign_name(method: str, path: str, host: str) -> None:
    moved = Moved()

    answer = await call(moved, method, path, host, headers=JSON, content=ADVANCE)

    assert (answer.status_code, moved.times) == (421, 0)


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost:8081", "127.0.0.1:8081", "127.0.0.9", "10.1.2.3:8081"),
        *("[::1]:8081", "metrics.internal", "Metrics.Internal:8081"),
    ],
)
async def test_addresses_and_names_of_ours_are_answered(host: str) -> None:
    moved = Moved()

    assert (await call(moved, "GET", "/readyz", host)).json() == {"ready": True}
    answer = await call(moved, "POST", "/sandbox/clock", host, headers=JSON, content=ADVANCE)
    assert (answer.status_code, moved.times) == (200, 1)


#: What a page may send to another origin without being asked first (Fetch standard,
#: "CORS-safelisted request-header").
SIMPLE = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]


@pytest.mark.parametrize(
    "kind", [*SIMPLE, "", "text/plain; application/json", "application/json-seq", "json"]
)
@pytest.mark.parametrize(
    ("method", "path"), [each for each in routes() if each[0] not in {"GET", "HEAD"}]
)
async def test_what_a_page_may_send_unasked_changes_nothing(
    method: str, path: str, kind: str
) -> None:
    moved = Moved()

    for headers in ({"Content-Type": kind}, {}):
        answer = await call(moved, method, path, "localhost", headers=headers, content=ADVANCE)
        assert (answer.status_code, moved.times) == (415, 0)


async def test_no_other_origin_is_allowed_to_ask_or_read() -> None:
    origin = {"Origin": "http://rebound.example"}
    asked = origin | {"Access-Control-Request-Method": "POST"}

    preflight = await call(Moved(), "OPTIONS", "/sandbox/clock", "localhost", headers=asked)
    read = await call(Moved(), "GET", "/readyz", "localhost", headers=origin)

    for answer in (preflight, read):
        assert not [name for name in answer.headers if name.startswith("access-control")]
