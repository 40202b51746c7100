import asyncio
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from deploy.recording_api import ARRIVES_S, OK, RecordingApi, Writer, names_of_api, nothing
from deploy.running_proxy import TEMPLATE, configured, find_nginx, rendered, running_proxy
from harness.servers.ports import free_ports

pytestmark = pytest.mark.slow

#: How long the service holds a call, and the longest body that it takes (docs/http-api.md).
HOLD_S, MAX_BYTES = 85, 16 * 1024
CALL = {"Authorization": "Bearer cs_secret", "X-Request-Id": "of-the-caller"}


async def _ended(call: "asyncio.Task[httpx.Response]", what: str) -> httpx.Response:
    """Return what *call* was answered; *what* says in a failure what was waited for."""
    try:
        async with asyncio.timeout(ARRIVES_S):
            return await call
    except TimeoutError:
        raise AssertionError(f"{what} did not come in {ARRIVES_S:.0f} s") from None


def _seconds(directive: str) -> int:
    (found,) = re.findall(rf"^\s*{directive} (\d+)s;", TEMPLATE.read_text(), re.MULTILINE)
    return int(found)


def test_the_proxy_waits_longer_than_the_service_holds_a_call() -> None:
    assert _seconds("proxy_read_timeout") == 100 > HOLD_S + 10


def test_the_api_is_the_one_to_say_that_a_body_is_too_long() -> None:
    (most,) = re.findall(r"client_max_body_size (\d+)k;", TEMPLATE.read_text())

    assert int(most) * 1024 > 2 * MAX_BYTES


@pytest.fixture(scope="module")
def nginx() -> Path:
    return find_nginx()


def test_nginx_accepts_the_file_without_a_warning(nginx: Path, tmp_path: Path) -> None:
    listen, api, names = free_ports(3)
    file = configured(tmp_path, rendered(listen=listen, api=api, names=names))

    checked = subprocess.run(
        [nginx, "-t", "-c", file, "-p", tmp_path], capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr


class Proxied:
    """The proxy before APIs on 127.0.0.1 and 127.0.0.2, of which *started* run."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.folder = folder
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers=CALL, timeout=20, trust_env=False)

    def calls(self) -> str:
        return (self.folder / "calls").read_text()


@pytest.fixture
def first() -> RecordingApi:
    return RecordingApi()


@pytest.fixture
def addresses() -> list[str]:
    """The addresses of the API in the DNS: one for each copy, as an engine's server has it."""
    return ["127.0.0.1"]


@asynccontextmanager
async def proxy(
    nginx: Path,
    folder: Path,
    first: RecordingApi,
    addresses: Sequence[str],
    changed: Mapping[str, str],
) -> AsyncIterator[Proxied]:
    """Run the proxy before *first*, with what *changed* names put in place of its settings."""
    listen, api, names = free_ports(3)
    text = rendered(listen=listen, api=api, names=names)
    for usual, other in changed.items():
        assert usual in text
        text = text.replace(usual, other)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(names_of_api(addresses, names))
        await stack.enter_async_context(first.at("127.0.0.1", api))
        running = stack.enter_context(running_proxy(nginx, folder, text, listen))
        one = Proxied(folder, running, listen)
        await _name_is_known(one)
        first.calls.clear()
        yield one


async def _name_is_known(one: Proxied) -> None:
    """Wait until the proxy has looked the API's name up, which it does once it listens."""
    # From an address of its own: what is counted for an address is the tests'.
    transport = httpx.AsyncHTTPTransport(local_address="127.0.0.9")
    async with (
        httpx.AsyncClient(transport=transport, base_url=one.url) as client,
        asyncio.timeout(ARRIVES_S),
    ):
        while (await client.get("/v1/usage")).status_code == 502:
            pass


@pytest.fixture
async def proxied(
    nginx: Path, tmp_path: Path, first: RecordingApi, addresses: list[str]
) -> AsyncIterator[Proxied]:
    async with proxy(nginx, tmp_path, first, addresses, {}) as one:
        yield one


async def test_a_call_passes_with_its_key_and_ids(
    proxied: Proxied, first: RecordingApi
) -> None:
    async with proxied.client() as client:
        answer = await client.post("/v1/contacts?a=%2F", json={"brand": "Acme"})

    assert (answer.status_code, answer.text) == (200, "ok")
    assert answer.headers["X-Request-Id"] == "req_ours"
    ((line, headers, body),) = first.calls
    assert line == "POST /v1/contacts?a=%2F HTTP/1.1"
    assert headers["authorization"] == "Bearer cs_secret"
    assert headers["x-request-id"] == "of-the-caller"
    assert headers["host"] == proxied.url.removeprefix("http://")
    assert body == b'{"brand":"Acme"}'


async def test_the_log_of_the_proxy_has_the_request_id_and_no_key(proxied: Proxied) -> None:
    async with proxied.client() as client:
        await client.get("/v1/usage?q=private")

    assert '"request":"req_ours"' in proxied.calls()
    assert "cs_secret" not in proxied.calls()
    assert "private" not in proxied.calls()


async def test_a_post_that_was_sent_is_never_sent_again(
    proxied: Proxied, first: RecordingApi
) -> None:
    first.answer = nothing

    async with proxied.client() as client:
        answer = await client.post("/v1/contacts", json={"brand": "Acme"})

    assert answer.status_code == 502
    assert len(first.calls) == 1


async def test_each_part_of_an_answer_is_forwarded_at_once(
    proxied: Proxied, first: RecordingApi
) -> None:
    heard = asyncio.Event()

    async def in_two_parts(writer: Writer) -> None:
        writer.write(OK.removesuffix(b"k"))
        await writer.drain()
        await heard.wait()
        writer.write(b"k")

    first.answer = in_two_parts
    async with proxied.client() as client, client.stream("GET", "/v1/usage") as answer:
        async with asyncio.timeout(10):
            parts = answer.aiter_raw()
            assert await anext(parts) == b"o"
            heard.set()
            assert await anext(parts) == b"k"


async def test_a_held_call_ends_before_the_proxy_leaves(
    proxied: Proxied, first: RecordingApi
) -> None:
    leaving = asyncio.Event()

    async def held(writer: Writer) -> None:
        await leaving.wait()
        writer.write(OK)

    first.answer = held
    async with proxied.client() as client:
        call = asyncio.create_task(client.post("/v1/contacts", json={"brand": "Acme"}))
        await first.wait_called(call)
        proxied.process.send_signal(signal.SIGQUIT)
        leaving.set()
        answer = await _ended(call, "the answer to a call that the proxy held as it left")

    assert answer.status_code == 200
    assert await asyncio.to_thread(proxied.process.wait, 20) == 0


@pytest.mark.parametrize("addresses", [["127.0.0.1", "127.0.0.2"]])
async def test_calls_go_to_the_other_one_of_two_while_the_dns_names_one_that_has_gone(
    proxied: Proxied, first: RecordingApi
) -> None:
    async with proxied.client() as client:
        answers = [await client.post("/v1/contacts", json={"brand": str(n)}) for n in range(6)]

    assert [answer.status_code for answer in answers] == [200] * 6
    assert len(first.calls) == 6


async def test_one_address_that_floods_is_refused_in_the_words_of_the_api(
    nginx: Path, tmp_path: Path, first: RecordingApi
) -> None:
    few = {"rate=50r/s": "rate=1r/m", "burst=200 ": "burst=1 "}
    async with (
        proxy(nginx, tmp_path, first, ["127.0.0.1"], few) as one,
        httpx.AsyncClient(base_url=one.url) as client,
    ):
        answers = [await client.get("/v1/usage") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    refused = answers[-1]
    assert refused.json()["error"]["code"] == "rate_limited"
    assert refused.headers["retry-after"] == "5"
    assert refused.headers["content-type"] == "application/json"


async def test_x_forwarded_for_counts_only_from_the_trusted_proxy(
    proxied: Proxied, first: RecordingApi
) -> None:
    transport = httpx.AsyncHTTPTransport(local_address="127.0.0.5")
    forwarded = {"X-Forwarded-For": "192.0.2.7"}
    async with httpx.AsyncClient(transport=transport, base_url=proxied.url) as trusted:
        await trusted.get("/v1/usage", headers=forwarded)
    async with proxied.client() as other:
        await other.get("/v1/usage", headers=forwarded)

    assert [headers["x-forwarded-for"] for _, headers, _ in first.calls] == [
        "192.0.2.7",
        "127.0.0.1",
    ]
