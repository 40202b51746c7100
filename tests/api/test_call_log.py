"""Each call is one line of the log, by which its id leads to it, with nobody's name in it."""

import asyncio
import json
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from api.away import How, fragile
from api.failing import NEVER
from cs.domain.api_key import make_key
from harness.served import Served

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


async def test_a_search_and_its_check_are_a_line_each(lines: Logged) -> None:
    async with fragile() as service:
        posted = await service.call("POST", "/contacts", json={"brand": "Acme"})
        search = posted.json()["id"]
        checked = await service.call("GET", f"/searches/{search}")
        again = await service.call("POST", "/contacts", json={"brand": "Acme"})

    first, second, third = calls(lines)
    lookup, took_ms = first.pop("lookup"), first.pop("took_ms")
    assert first == {
        "event": "call",
        "log_level": "info",
        "request": posted.headers["X-Request-Id"],
        "method": "POST",
        "route": "/v1/contacts",
        "status": 202,
        "key": service.key.id,
        "search": search,
    }
    assert 0 < took_ms < 60_000
    assert (second["route"], second["status"]) == ("/v1/searches/{id}", 200)
    assert (second["search"], second["key"]) == (search, service.key.id)
    assert second["request"] == checked.headers["X-Request-Id"]
    assert (third["search"], third["lookup"]) == (again.json()["id"], lookup)


async def test_a_refused_call_is_a_line_with_its_code(lines: Logged) -> None:
    async with fragile() as service:
        for method, path, status, code in (
            ("POST", "/contacts", 400, "invalid_request"),
            ("DELETE", "/usage", 405, "invalid_request"),
            ("GET", "/nothing", 404, "not_found"),
            ("GET", "/searches/srch_x", 404, "not_found"),
        ):
            lines.clear()
            answer = await service.call(method, path)

            assert is_logged(lines, answer, status, code)["key"] == service.key.id


def is_logged(lines: Logged, answer: httpx.Response, status: int, code: str) -> Line:
    """Return the one line of the call that *answer* is of."""
    (line,) = calls(lines)
    assert (line["status"], line["code"]) == (answer.status_code, code) == (status, code)
    assert line["request"] == answer.headers["X-Request-Id"]
    return line


@pytest.mark.parametrize("how", ["fails", "breaks"])
async def test_a_failed_call_is_a_line_next_to_what_failed(lines: Logged, how: How) -> None:
    async with fragile() as service:
        service.log.go_at_admission("before", how, readable=True)
        answer = await service.call("POST", "/contacts", json={"brand": "Acme"})

    line = is_logged(lines, answer, 500, "server_error")
    assert [each["request"] for each in lines if each["log_level"] == "error"] == [
        line["request"]
    ]


async def test_a_caller_who_hangs_up_is_logged_with_status_499(
    lines: Logged,
) -> None:
    async with fragile(NEVER) as service:
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
            await service.running.app(post(service.key.key), receive, send)

    (line,) = calls(lines)
    assert line["status"] == 499
    assert line["search"].startswith("srch_")


def post(secret: str) -> dict[str, Any]:
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
            (b"authorization", f"Bearer {secret}".encode()),
            (b"content-type", b"application/json"),
        ],
    }


async def test_nothing_that_could_be_a_name_or_a_secret_is_logged(lines: Logged) -> None:
    async with fragile() as service:
        secret = service.key.key
        typo = secret[:-1] + "_"
        hidden = {"X-Request-Id": "ada.kern@acme.example"}
        await service.call("POST", "/contacts", json={"brand": "Ada Kern"}, headers=hidden)
        await service.call("GET", "/contacts/Ada%20Kern?brand=Kern")
        await service.call("GET", "/searches/ada.kern@acme.example")
        await service.call("ADAKERN", "/usage")
        await service.call("GET", "/usage", secret=typo)

    found = calls(lines)
    assert [line["route"] for line in found] == [
        "/v1/contacts",
        "other",
        "/v1/searches/{id}",
        "/v1/usage",
        "/v1/usage",
    ]
    assert found[3]["method"] == "other"
    assert "kern" not in str(found).lower()
    assert secret[8:] not in str(found)
    assert typo not in str(found)


async def test_the_callers_own_id_has_few_forms_and_is_logged_and_not_sent_back(
    lines: Logged,
) -> None:
    async with fragile() as service:
        for given, logged in (
            (b"batch-7/row:12", "batch-7/row:12"),
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
        ):
            lines.clear()
            answer = await service.call("GET", "/usage", headers={"X-Request-Id": given})

            (line,) = calls(lines)
            assert line.get("client_request") == logged, given
            assert line["request"] == answer.headers["X-Request-Id"] != logged


def test_the_line_on_the_operators_page_is_as_it_is_written(tmp_path: Path) -> None:
    section = PAGE.partition("\n## One call\n")[2].partition("\n## ")[0]
    (shown,) = [json.loads(each) for each in re.findall(r"```json\n(.*)\n```", section)]
    explained = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.+?) \|", section, re.MULTILINE)))
    )
    with Served(tmp_path / "data") as service, service.client(service.new_key()) as client:
        sent = {"X-Request-Id": shown["client_request"]}
        client.post("/contacts", json={"brand": "Veltrana"}, headers=sent)

    (line,) = calls([json.loads(each) for each in service.lines if each.startswith("{")])
    assert list(shown) == list(line)
    assert shown["request"] in section.partition("```json")[0]
    assert explained == shown.keys() - {"event", "request", "level", "timestamp"} | {"code"}
