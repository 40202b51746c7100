"""The two clients over real HTTP: they do the same, and send the same."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.answering import (
    DONE,
    FAILED,
    RUNNING,
    USAGE,
    Answer,
    Handling,
    Time,
    answering,
    http_thread,
    refusal,
)
from cs.client import (
    AsyncClient,
    Client,
    ClientError,
    Done,
    Patience,
    Query,
    Running,
    Unauthorized,
    Unreachable,
    Usage,
)
from cs.client.clients import KEEPALIVE_S, MAX_BYTES, AsyncContacts, Contacts
from cs.client.retries import NO_RETRIES
from harness.clients import certificates

KEY = "cs_live_x"


@dataclass
class Twin:
    """Calls a client's method by its name, whichever of the two it is of."""

    make: Callable[..., Any]

    def __call__(
        self, url: str, method: str, *given: Any, time: Time | None = None, **more: Any
    ) -> Any:
        clock = time or Time()
        return self.make(url, method, given, more, clock)


def blocking(url: str, method: str, given: Any, more: Any, clock: Time) -> Any:
    patience = more.pop("patience", None)
    with Client(url, KEY, patience=patience, sleep=clock.sleep, now=clock.now) as client:
        found = named(client, method)(*given, **more)
        return list(found) if isinstance(found, Iterator) else found


def awaiting(url: str, method: str, given: Any, more: Any, clock: Time) -> Any:
    async def run() -> Any:
        patience = more.pop("patience", None)
        async with AsyncClient(
            url, KEY, patience=patience, sleep=clock.asleep, now=clock.now
        ) as client:
            found = named(client, method)(*given, **more)
            if isinstance(found, Awaitable):
                return await found
            return [each async for each in found]

    return asyncio.run(run())


def named(client: Client | AsyncClient, method: str) -> Any:
    return client.usage if method == "usage" else getattr(client.contacts, method)


@pytest.fixture(params=[blocking, awaiting], ids=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Twin:
    return Twin(request.param)


def test_both_clients_take_the_same() -> None:
    for one, other in ((Client, AsyncClient), (Contacts, AsyncContacts)):
        public = [name for name in vars(one) if not name.startswith("_")]
        assert public == [name for name in vars(other) if not name.startswith("_")]
        for name in public:
            if callable(method := getattr(one, name)):
                taken = signature(method).parameters
                assert list(taken) == list(signature(getattr(other, name)).parameters)


def ok(body: bytes, status: int = 200, **headers: str) -> Answer:
    kind = {"Content-Type": "application/json"}
    return status, body, kind | {n.replace("_", "-"): v for n, v in headers.items()}


def test_a_search_is_held_and_says_how_it_ended(call: Twin) -> None:
    with answering(ok(DONE)) as server:
        found = call(server.url, "search", "Acme", domain="acme.example")

    assert isinstance(found, Done)
    (got,) = server.got
    assert (got.method, got.path) == ("POST", "/v1/contacts")
    assert msgspec.json.decode(got.body) == {
        "brand": "Acme",
        "domain": "acme.example",
        "wait": True,
    }
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.headers["content-type"] == "application/json"


def test_starting_returns_at_once_and_the_rest_is_waited_for(call: Twin) -> None:
    with answering(ok(RUNNING, 202), ok(DONE)) as server:
        begun = call(server.url, "start", domain="acme.example", idempotency_key="order-66")
        ended = call(server.url, "wait", begun)

    assert isinstance(begun, Running)
    assert isinstance(ended, Done)
    assert msgspec.json.decode(server.got[0].body) == {"domain": "acme.example", "wait": False}
    assert server.got[0].headers["idempotency-key"] == "order-66"


def test_usage_and_a_search_are_read(call: Twin) -> None:
    usage = b"{" + USAGE + b"}"
    with answering(ok(usage[len(b'{"usage": ') : -1]), ok(DONE)) as server:
        used = call(server.url, "usage")
        found = call(server.url, "get", "srch/../1")

    assert used == Usage(9, 1, 8)
    assert found.id == "srch_1"
    assert server.got[1].path == "/v1/searches/srch%2F..%2F1"


def test_an_absent_server_is_tried_as_often_as_patience_says(call: Twin) -> None:
    time = Time()
    with answering(ok(DONE)) as gone:
        pass

    with pytest.raises(Unreachable, match=f"{gone.url} does not answer: "):
        call(gone.url, "search", "Acme", time=time, patience=Patience(tries=4))

    assert len(time.slept) == 3


def test_tls_on_a_port_without_it_is_an_error_at_once(call: Twin) -> None:
    time = Time()
    with answering(ok(DONE)) as server:
        url = server.url.replace("http://", "https://")
        with pytest.raises(Unreachable, match="this port answers without TLS; write http://"):
            call(url, "search", "Acme", time=time)

    assert time.slept == []


def test_an_untrusted_certificate_is_an_error_at_once(call: Twin, tmp_path: Path) -> None:
    time = Time()
    context = certificates(tmp_path).context(["127.0.0.1"])
    with (
        http_thread(Handling, tls=context) as url,
        pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        call(url, "search", "Acme", time=time)

    assert time.slept == []


def test_an_answer_without_end_is_not_read_on(call: Twin) -> None:
    with (
        answering(ok(DONE + b" " * MAX_BYTES)) as server,
        pytest.raises(Unreachable, match="longer than 4194304 bytes"),
    ):
        call(server.url, "start", "Acme")

    assert len(server.got) == 1


def test_many_come_as_they_end(call: Twin) -> None:
    heard: list[tuple[str | None, str]] = []
    queries = [Query("Slow"), "Fast"]
    with answering(ok(RUNNING, 202), ok(FAILED), ok(DONE)) as server:
        ended = call(
            server.url,
            "search_many",
            queries,
            started=lambda query, search: heard.append((query.brand, search.id)),
        )

    assert [each.query.brand for each in ended] == ["Fast", "Slow"]
    assert heard == [("Slow", "srch_1")]


@pytest.mark.parametrize("proxy", [False, True])
def test_tcp_keeps_the_connection_of_a_held_call_alive(
    monkeypatch: pytest.MonkeyPatch, *, proxy: bool
) -> None:
    if proxy:  # not for an address of this machine
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    async def awaited(url: str) -> list[int]:
        async with AsyncClient(url, KEY) as client, client._http.stream("GET", url) as answer:
            return keep_alive(answer)

    with answering(ok(USAGE)) as server, Client(server.url, KEY) as client:
        with client._http.stream("GET", server.url) as answer:
            assert keep_alive(answer) == [1, KEEPALIVE_S, KEEPALIVE_S]
        assert asyncio.run(awaited(server.url)) == [1, KEEPALIVE_S, KEEPALIVE_S]
    assert KEEPALIVE_S <= 60, "docs/http-api.md"


def keep_alive(answer: httpx.Response) -> list[int]:
    opened = answer.extensions["network_stream"].get_extra_info("socket")
    return [
        opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
        opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
        opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
    ]


@pytest.mark.parametrize("at_once", [0, -1])
def test_nothing_at_once_is_refused(call: Twin, at_once: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        call("http://127.0.0.1:1/v1", "search_many", ["Acme"], at_once=at_once)


schemes = st.sampled_from(["http://", "https://", "http:/", "ftp://", ""])
pieces = st.sampled_from(
    ["a", "0", ".", "-", "xn--", "[", "]", ":", "::1", "@", "%", "/", "?", "#", " ", "\0"]
)
written = st.builds(
    lambda scheme, parts: scheme + "".join(parts),
    schemes,
    st.lists(pieces | st.characters(), max_size=8),
)
NO_ADDRESSES = (
    *("nothing", "http://[::1", "http://:80/v1", "ftp://a.example/v1", "http://a]b/v1"),
    *("http://a[b]/v1", "http://xn--zzzzzzz-/v1", "http://a..b/v1"),
    *(f"http://{'a' * 64}.example/v1", "http://a.example/\udcff"),
)


@given(written)
def test_any_address_makes_a_client_or_is_reported(url: str) -> None:
    with suppress(Unreachable):
        Client(url, KEY).close()


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_is_reported(call: Twin, url: str) -> None:
    with pytest.raises(Unreachable, match="is no address"):
        call(url, "usage")


@pytest.mark.parametrize(
    "url",
    [
        "http://u:secretpw@127.0.0.1:1/v1",
        "https://secretpw@a.example/v1",
        "http://u:secret/pw@a.example/v1",
        "ftp://u:secretpw@a.example/v1",
        "http://u:secretpw@",
        "u:secretpw@a.example",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_shown(call: Twin, url: str) -> None:
    with pytest.raises(Unreachable, match="an address looks like") as caught:
        call(url, "usage")

    assert "secret" not in str(caught.value)
    assert not caught.value.may_pass


@pytest.mark.parametrize("key", ["", "cs_live é", "cs live", "a\tb", "a\n"])
def test_a_key_that_no_key_is_like_is_reported(key: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(Unauthorized, match="letters, digits"):
            kind("http://127.0.0.1:1/v1", key)


def test_a_proxy_for_the_outside_is_not_asked_for_this_machine(
    call: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    with answering(ok(DONE)) as server:
        assert call(server.url, "get", "srch_1").status == "done"
        everywhere = server.url.replace("127.0.0.1", "0.0.0.0")
        assert call(everywhere, "get", "srch_1").status == "done", "where a container listens"


def test_a_proxy_that_is_named_is_asked(call: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(ok(DONE)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)

        call("http://contacts.example/v1", "get", "srch_1")

    assert proxy.got[0].path == "http://contacts.example/v1/searches/srch_1"


def test_limits_of_the_last_answer_are_kept() -> None:
    left = '"minute";r=5;t=60'
    with (
        answering(ok(DONE, RateLimit=left), refusal(404, "not_found")) as server,
        Client(server.url, KEY, patience=NO_RETRIES) as client,
    ):
        before = client.limits
        client.contacts.get("srch_1")
        with pytest.raises(ClientError):
            client.contacts.get("srch_2")

        assert before is None
        assert client.limits is not None
        assert client.limits.windows["minute"].remaining == 5


ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Only(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top == "cs" and name != "cs" and not name.startswith("cs.client"):
            raise ImportError(name)
        if top not in sys.stdlib_module_names and top not in ALLOWED:
            raise ImportError(name)

ALLOWED = {"cs", "httpx", "msgspec", "httpcore", "h11", "anyio", "certifi", "idna"}
sys.meta_path.insert(0, Only())
from cs.client import *
Client("http://127.0.0.1:1/v1", "k").close()
print("imported")
"""


def test_it_is_imported_without_what_the_server_needs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, check=False
    )

    assert ended.stdout == "imported\n", ended.stderr
