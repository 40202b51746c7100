"""What a page in a browser may do to the admin port: nothing, whatever its name points at."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.served import Served, served

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}
ADVANCE = b'{"advance": 86400}'
CHANGING = ("/sandbox/clock", "/mailboxes/bounced")
CALLS = [
    *(("POST", path) for path in CHANGING),
    *(("GET", path) for path in ("/healthz", "/readyz", "/metrics", "/sandbox/clock", "/x")),
    *(("GET", path) for path in ("/console/", "/console/searches", "/console/live")),
    ("POST", "/console/pause"),
    ("HEAD", "/readyz"),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("admin") / "data"
    with served(folder, CS_ADMIN_NAMES="metrics.internal") as service:
        yield service


@pytest.fixture
def port(service: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.admin_url, trust_env=False) as client:
        yield client


def day(port: httpx.Client) -> str:
    """Return the day by the clock of the sandbox."""
    now: str = port.get("/sandbox/clock").json()["now"]
    return now[:10]


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
def test_nothing_is_answered_under_a_foreign_name(port: httpx.Client, host: str) -> None:
    before = day(port)

    for method, path in CALLS:
        sent = port.build_request(method, path, headers=JSON | {"Host": host}, content=ADVANCE)
        assert port.send(sent).status_code == 421, (method, path)

    assert day(port) == before


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LocalHost:8081", "127.0.0.1:8081", "127.0.0.9", "10.1.2.3:8081"),
        *("[::1]:8081", "metrics.internal", "Metrics.Internal:8081"),
    ],
)
def test_addresses_and_names_of_ours_are_answered(port: httpx.Client, host: str) -> None:
    before = day(port)
    headers = JSON | {"Host": host}

    assert port.get("/readyz", headers=headers).json()["ready"] is True
    assert port.post("/sandbox/clock", headers=headers, content=ADVANCE).status_code == 200
    assert day(port) > before


#: What a page may send to another origin without being asked first (Fetch standard,
#: "CORS-safelisted request-header").
SIMPLE = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]


@pytest.mark.parametrize(
    "kind", [*SIMPLE, "", None, "text/plain; application/json", "application/json-seq", "json"]
)
@pytest.mark.parametrize("path", CHANGING)
def test_what_a_page_may_send_unasked_changes_nothing(
    port: httpx.Client, path: str, kind: str | None
) -> None:
    before = day(port)
    headers = {} if kind is None else {"Content-Type": kind}

    assert port.post(path, headers=headers, content=ADVANCE).status_code == 415
    assert day(port) == before


def test_no_other_origin_is_allowed_to_ask_or_read(port: httpx.Client) -> None:
    origin = {"Origin": "http://rebound.example"}
    asked = origin | {"Access-Control-Request-Method": "POST"}

    for answer in (
        port.options("/sandbox/clock", headers=asked),
        port.get("/readyz", headers=origin),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_failure_has_a_code_and_a_message(port: httpx.Client, service: Served) -> None:
    Path(service.folder / "clock.new").mkdir()
    for body, status, code in (
        (b'{"advance": 1e9}', 400, "invalid_request"),
        (b'{"advance": -1}', 400, "invalid_request"),
        (b"x" * 2_000, 400, "invalid_request"),
        (ADVANCE, 503, "unavailable"),
    ):
        answer = port.post("/sandbox/clock", headers=JSON, content=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json()["message"]
