"""Each call is one line of the log, by which its id leads to it, with nobody's name in it."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from api.failing import NEVER, Unwritable
from api.openapi_document import DOCUMENT
from cs.api.call_log import KEYLESS_PER_S, clients_id, route, search_id
from cs.api.waiting import KeyLimiter
from cs.domain.api_key import make_key
from cs.eventlog.errors import LogUnavailable
from cs.operations.operator import NewSecret
from cs.runtime import logs
from cs.settings import Settings
from harness.in_process import Service, in_memory
from harness.outside import tools

PAGE = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text()

KEY = make_key(bytes(range(32)))

Line = MutableMapping[str, Any]
Logged = list[Line]


@pytest.fixture
def lines() -> Iterator[Logged]:
    with capture_logs([merge_contextvars]) as lines:
        yield lines


def calls(lines: Logged) -> Logged:
    return [line for line in lines if line["event"] == "call"]


async def called(
    service: Service, key: NewSecret | None, method: str, path: str, **sent: Any
) -> httpx.Response:
    """Call without a key if it is None; a bug is an answer."""
    transport = httpx.ASGITransport(service.running.app, raise_app_exceptions=False)
    headers = {} if key is None else {"Authorization": f"Bearer {key.key}"}
    headers |= sent.pop("headers", {})
    async with httpx.AsyncClient(
        transport=transport, base_url="http://service.test/v1", headers=headers
    ) as client:
        return await client.request(method, path, **sent)


async def test_a_search_and_its_check_are_a_line_each(lines: Logged) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        posted = await called(service, key, "POST", "/contacts", json={"brand": "Acme"})
        search = posted.json()["id"]
        checked = await called(service, key, "GET", f"/searches/{search}")
        again = await called(service, key, "POST", "/contacts", json={"brand": "Acme"})

    first, second, third = calls(lines)
    lookup, took_ms = first.pop("lookup"), first.pop("took_ms")
    assert first == {
        "event": "call",
        "log_level": "info",
        "request": posted.headers["X-Request-Id"],
        "method": "POST",
        "route": "/v1/contacts",
        "status": 202,
        "key": key.id,
        "search": search,
    }
    assert 0 < took_ms < 60_000
    assert (second["route"], second["status"]) == ("/v1/searches/{id}", 200)
    assert (second["search"], second["key"]) == (search, key.id)
    assert second["request"] == checked.headers["X-Request-Id"]
    assert (third["search"], third["lookup"]) == (again.json()["id"], lookup)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/contacts", 400, "invalid_request"),
        ("DELETE", "/usage", 405, "invalid_request"),
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/searches/srch_x", 404, "not_found"),
    ],
)
async def test_a_refused_call_is_a_line_with_its_code(
    lines: Logged, method: str, path: str, status: int, code: str
) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        answer = await called(service, key, method, path)

    assert is_told(lines, answer, status, code)["key"] == key.id


def is_told(lines: Logged, answer: httpx.Response, status: int, code: str) -> Line:
    """Return the one line of the call that *answer* is of."""
    (line,) = calls(lines)
    assert (line["status"], line["code"]) == (answer.status_code, code) == (status, code)
    assert line["request"] == answer.headers["X-Request-Id"]
    return line


async def test_a_call_without_a_good_key_is_a_line_without_one(lines: Logged) -> None:
    async with in_memory(tools()) as service:
        answer = await called(service, None, "GET", "/usage")

    assert "key" not in is_told(lines, answer, 401, "unauthorized")


@pytest.mark.slow
@pytest.mark.parametrize(("path", "status"), [("/usage", 401), ("/openapi.json", 200)])
async def test_a_flood_without_good_keys_is_some_lines_a_second_and_a_count(
    lines: Logged, path: str, status: int
) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        began = asyncio.get_running_loop().time()
        flood = 400
        for _ in range(flood):
            assert (await called(service, None, "GET", path)).status_code == status
            if len(calls(lines)) == KEYLESS_PER_S:
                await called(service, key, "GET", "/usage")
        took_s = asyncio.get_running_loop().time() - began
        async with asyncio.timeout(10):
            while told_of(lines) < flood:  # the next line says how many were left out
                flood += 1
                await called(service, None, "GET", path)

    refused = [line for line in calls(lines) if "key" not in line]
    assert len(refused) <= KEYLESS_PER_S * (took_s + 1) + 1
    assert told_of(lines) == flood, "every call has a line or is counted"
    assert [line["key"] for line in calls(lines) if "key" in line] == [key.id]


def told_of(lines: Logged) -> int:
    """Return of how many calls without a key the log knows."""
    refused = [line for line in calls(lines) if "key" not in line]
    left_out: int = sum(line.get("left_out", 0) for line in refused)
    return len(refused) + left_out


async def test_a_refused_search_is_a_line_with_its_code(lines: Logged) -> None:
    async with in_memory(tools()) as service:
        used_up, key = await service.new_key(quota=0), await service.new_key()
        answers = [await called(service, used_up, "POST", "/contacts", json={"brand": "Acme"})]
        await service.operator.pause()
        answers.append(await called(service, key, "POST", "/contacts", json={"brand": "Acme"}))
        service.running.api.search_limiter = KeyLimiter(0, 0)
        answers.append(await called(service, key, "POST", "/contacts", json={"brand": "Acme"}))

    told = [(line["status"], line["code"]) for line in calls(lines)]
    assert told == [(402, "quota_exhausted"), (503, "api_disabled"), (429, "rate_limited")]
    assert [line["request"] for line in calls(lines)] == [
        answer.headers["X-Request-Id"] for answer in answers
    ]


@pytest.mark.parametrize("error", [LogUnavailable("the disk is full"), RuntimeError("a bug")])
async def test_a_failed_call_is_a_line_beside_what_failed(
    lines: Logged, error: Exception
) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        streams = service.running.streams
        streams.log = Unwritable(streams.log, error)
        answer = await called(service, key, "POST", "/contacts", json={"brand": "Acme"})

    line = is_told(lines, answer, 500, "server_error")
    assert [each["request"] for each in lines if each["log_level"] == "error"] == [
        line["request"]
    ]


async def test_a_caller_who_hangs_up_is_told_from_one_who_was_answered(lines: Logged) -> None:
    async with in_memory(NEVER) as service:
        key = await service.new_key()
        heard = iter(
            [
                {"type": "http.request", "body": b'{"brand":"Acme","wait":true}'},
                {"type": "http.disconnect"},
            ]
        )

        async def receive() -> Any:
            return next(heard)

        async def send(_: Any) -> None:
            """Nobody is there."""

        async with asyncio.timeout(20):
            await service.running.app(post(key), receive, send)

    (line,) = calls(lines)
    assert line["status"] == 499
    assert line["search"].startswith("srch_")


def post(key: NewSecret) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "server": ("service.test", 80),
        "method": "POST",
        "path": "/v1/contacts",
        "raw_path": b"/v1/contacts",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {key.key}".encode()),
            (b"content-type", b"application/json"),
        ],
    }


async def test_nothing_that_could_be_a_name_or_a_secret_is_logged(lines: Logged) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        typo = NewSecret(id=key.id, key=key.key[:-1] + "_")
        hidden = {"headers": {"X-Request-Id": "ada.kern@acme.example"}}
        await called(service, key, "POST", "/contacts", json={"brand": "Ada Kern"}, **hidden)
        await called(service, key, "GET", "/contacts/Ada%20Kern?brand=Kern")
        await called(service, key, "GET", "/searches/ada.kern@acme.example")
        await called(service, key, "ADAKERN", "/usage")
        await called(service, typo, "GET", "/usage")

    told = calls(lines)
    assert [line["route"] for line in told] == [
        "/v1/contacts",
        "other",
        "/v1/searches/{id}",
        "/v1/usage",
        "/v1/usage",
    ]
    assert told[3]["method"] == "other"
    assert "kern" not in str(told).lower()
    assert key.key[8:] not in str(told)
    assert typo.key not in str(told)


async def test_the_callers_own_id_is_logged_and_not_sent_back(lines: Logged) -> None:
    async with in_memory(tools()) as service:
        key = await service.new_key()
        answer = await called(
            service, key, "GET", "/usage", headers={"X-Request-Id": "batch-7/row:12"}
        )

    (line,) = calls(lines)
    assert line["client_request"] == "batch-7/row:12"
    assert line["request"] == answer.headers["X-Request-Id"] != "batch-7/row:12"


@pytest.mark.parametrize(
    ("given", "logged"),
    [
        (b"a" * 128, "a" * 128),
        (b"a" * 129, None),
        (b"", None),
        (b"two words", None),
        (b"a@b.example", None),
        (b"a%40b.example", None),
        (KEY.encode(), None),
        (b"Bearer:" + KEY[:-1].encode(), None),
        (KEY.upper().encode(), None),
        ("\N{SNOWMAN}".encode(), None),
        (b"\x1b[2J", None),
    ],
)
def test_an_id_of_the_callers_has_few_forms(given: bytes, logged: str | None) -> None:
    assert clients_id([(b"host", b"x"), (b"x-request-id", given)]) == logged


def test_every_described_path_is_its_own_route() -> None:
    for path in DOCUMENT["paths"]:
        assert route(f"/v1{path.format(id='srch_1')}") == f"/v1{path}"


@pytest.mark.parametrize("path", ["/", "/v1/searches/", "/v1/searches/a/b", "/v1/contacts/"])
def test_any_other_path_is_none(path: str) -> None:
    assert route(path) == "other"


def test_only_what_looks_like_an_id_of_ours_is_a_search() -> None:
    example = DOCUMENT["components"]["examples"]["done"]["value"]["id"]

    assert search_id(f"/v1/searches/{example}") == example
    assert search_id("/v1/searches/srch_ada") is None
    assert search_id(f"/v1/searches/{example}x") is None
    assert search_id("/v1/usage") is None


@pytest.mark.parametrize(("level", "count"), [(Settings().log_level, 1), ("warning", 0)])
async def test_it_is_written_unless_the_level_is_above(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: str, count: int
) -> None:
    with logged_to(tmp_path / "log", monkeypatch, level):
        async with in_memory(tools()) as service:
            answer = await called(service, await service.new_key(), "GET", "/usage")

    told = calls([json.loads(line) for line in (tmp_path / "log").read_text().splitlines()])
    assert [line["request"] for line in told] == [answer.headers["X-Request-Id"]] * count


async def test_a_log_that_cannot_be_written_fails_no_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with logged_to(Path("/dev/full"), monkeypatch):
        async with in_memory(tools()) as service:
            key = await service.new_key()
            done = await service.search(key, brand="Acme")
            refused = await called(service, None, "GET", "/usage")

    assert (done.status_code, done.json()["status"]) == (200, "done")
    assert refused.status_code == 401


async def test_the_line_on_the_operators_page_is_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    section = PAGE.partition("\n## One call\n")[2].partition("\n## ")[0]
    (shown,) = [json.loads(each) for each in re.findall(r"```json\n(.*)\n```", section)]
    explained = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.+?) \|", section, re.MULTILINE)))
    )
    with logged_to(tmp_path / "log", monkeypatch):
        async with in_memory(tools()) as service:
            key, sent = await service.new_key(), {"X-Request-Id": shown["client_request"]}
            await called(
                service, key, "POST", "/contacts", json={"brand": "Acme"}, headers=sent
            )

    (line,) = calls([json.loads(each) for each in (tmp_path / "log").read_text().splitlines()])
    assert list(shown) == list(line)
    assert shown["request"] in section.partition("```json")[0]
    assert explained == shown.keys() - {"event", "request", "level", "timestamp"} | {"code"}


@contextmanager
def logged_to(
    path: Path, monkeypatch: pytest.MonkeyPatch, level: str = "info"
) -> Iterator[None]:
    """Log to *path* as a service does, until left."""
    with path.open("w") as file:
        monkeypatch.setattr(sys, "stderr", file)
        logs.configure(level)
        try:
            yield
        finally:
            structlog.reset_defaults()
