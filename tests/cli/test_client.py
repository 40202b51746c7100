"""The client against servers that are none of this API, or none at all."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from cli.command import Here
from cs.client.api import CallFailed, Client

KEY = "cs_live_x"
RUNNING = b'{"id": "srch_1", "status": "running", "brand": "Acme", "usage": {}}'
DONE = RUNNING.replace(b"running", b"done")
LIMITED = b'{"error": {"code": "rate_limited", "message": "too fast"}}'

#: status, body, headers
Answer = tuple[int, bytes, dict[str, str]]


@contextmanager
def answering(*answers: Answer) -> Iterator[str]:
    """Give each call the next of *answers*, the last one for ever; yield the base address."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, headers = left.pop(0) if len(left) > 1 else left[0]
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<html>hello</html>"),
        (200, b"[1]"),
        (200, b'{"ok": true}'),
        (200, b"\xff\xfe"),
        (404, b"not found"),
        (502, b'{"error": "bad gateway"}'),
        (302, b""),
    ],
)
@pytest.mark.parametrize("command", [["search", "Acme"], ["get", "srch_1"], ["usage"]])
def test_a_server_of_something_else_is_told(
    here: Here, command: list[str], status: int, body: bytes
) -> None:
    with answering((status, body, {})) as url:
        told = here(*command, f"--url={url}", f"--key={KEY}").told()

    assert told.startswith(f"not_this_api: {url} answers with status {status} and is no server")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("nothing", "unreachable: 'nothing' is no address; an address looks like http://"),
        ("http://[::1", "unreachable: 'http://[::1' is no address"),
        ("http://:80/v1", "unreachable: 'http://:80/v1' is no address"),
        ("ftp://a.example/v1", "unreachable: 'ftp://a.example/v1' is no address"),
    ],
)
def test_what_is_no_address_is_told(here: Here, url: str, told: str) -> None:
    assert here("usage", f"--url={url}", f"--key={KEY}").told().startswith(told)


def test_a_server_that_is_not_there_is_told(here: Here) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"

    told = here("search", "Acme", f"--url={url}", f"--key={KEY}").told()

    assert told.startswith(f"unreachable: {url} does not answer: ")


@pytest.mark.parametrize("key", ["cs_live é", "cs live", "a\tb", "a\n"])
def test_a_key_that_no_key_is_like_is_told_without_showing_it(here: Here, key: str) -> None:
    told = here("usage", "--url=http://127.0.0.1:1/v1", f"--key={key}").told()

    assert told == "unauthorized: an API key has only letters, digits and _"


@pytest.mark.parametrize("command", [["search", "Acme"], ["get", "srch_1"], ["usage"]])
def test_a_missing_key_is_told(here: Here, command: list[str]) -> None:
    assert here(*command).told(2).startswith("no API key: give --key or set CS_API_KEY")


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (429, "rate_limited", 4),
        (429, "too_many_in_flight", 4),
        (503, "at_capacity", 4),
        (503, "api_disabled", 4),
        (402, "quota_exhausted", 5),
        (500, "server_error", 1),
    ],
)
def test_a_refusal_ends_with_its_own_exit_code(
    here: Here, status: int, code: str, exit_code: int
) -> None:
    body = LIMITED.replace(b"rate_limited", code.encode())
    with answering((status, body, {"Retry-After": "7"})) as url:
        told = here("search", "Acme", f"--url={url}", f"--key={KEY}").told(exit_code)

    assert told == f"{code}: too fast (try again in 7 s)"


def test_waiting_waits_out_a_limit_that_it_meets() -> None:
    slept: list[float] = []
    limited: Answer = (429, LIMITED, {"Retry-After": "7"})
    with (
        answering((202, RUNNING, {}), (200, RUNNING, {}), limited, (200, DONE, {})) as url,
        Client(url, KEY) as client,
    ):
        record = client.wait(client.start("Acme"), lambda _: None, slept.append)

    assert record["status"] == "done"
    assert slept == [1.0, 1.0, 7, 1.0]


def test_waiting_ends_at_another_error() -> None:
    failed: Answer = (500, LIMITED.replace(b"rate_limited", b"server_error"), {})
    with (
        answering((202, RUNNING, {}), failed) as url,
        Client(url, KEY) as client,
        pytest.raises(CallFailed, match="too fast"),
    ):
        client.wait(client.start("Acme"), lambda _: None, ignored)


def ignored(_: float) -> None:
    pass


def test_a_proxy_for_the_outside_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    with answering((200, DONE, {})) as url, Client(url, KEY) as client:
        assert client.get("srch_1")["status"] == "done"


def test_text_of_a_server_is_printed_as_it_is(here: Here) -> None:
    body = (
        b'{"id": "srch_1", "status": "failed", "reason": "new_reason", "brand": "[/x]",'
        b' "cached": false, "charged": false, "contacts": [{"full_name": "[red]Jo", "title":'
        b' "[/]", "email": null}], "usage": {"used": 0, "quota": 1, "remaining": 1}}'
    )
    with answering((200, body, {})) as url:
        out = here("get", "srch_1", f"--url={url}", f"--key={KEY}").out

    assert out.startswith("[/x]  new_reason: try again in a few minutes (searched live, not")
    assert "[red]Jo" in out
