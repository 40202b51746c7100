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
from cs.api.call_log import clients_id
from cs.domain.api_key import make_key
from cs.eventlog.port import LogUnavailable
from cs.operations.operator import NewSecret
from cs.runtime import logs
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


@pytest.mark.parametrize("error", [LogUnavailable("the disk is full"), RuntimeError("a bug")])
async def test_a_failed_call_is_a_line_next_to_what_failed(
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


async def test_a_caller_who_hangs_up_is_distinguished_from_one_who_was_answered(
    lines: Logged,
) -> None:
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
