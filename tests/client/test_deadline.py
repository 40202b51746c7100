"""No answer takes longer than the time-out of its call, however it comes."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event

import msgspec
import pytest

from client.answering import Handling, http_thread
from cs.client import AsyncClient, Client
from cs.client.calls import USAGE, NoReply, Reply
from cs.client.clients import TOO_SLOW
from cs.client.flows import Send, StepResult

pytestmark = pytest.mark.slow

KEY = "cs_live_x"
SOON = Send(msgspec.structs.replace(USAGE, timeout_s=0.3))
LATER = Send(msgspec.structs.replace(USAGE, timeout_s=30.0))
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

#: Between two drops of an answer, in seconds; after so many it ends: a client that waits for
#: all of them has not given up.
SILENCE_S, DROPS = 0.02, 150


@contextmanager
def trickling(begin: bytes, drop: bytes, *, after: bytes = b"") -> Iterator[str]:
    """Answer with *begin* and then with *drop* again and again; the first call with *after*."""
    firsts, over = [after] if after else [], Event()

    class Handler(Handling):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            if firsts:
                self.wfile.write(firsts.pop())
                return
            self.close_connection = True
            with suppress(OSError):  # the client has hung up
                self.wfile.write(begin)
                for _ in range(DROPS):
                    if over.wait(SILENCE_S):
                        break
                    self.wfile.write(drop)

    with http_thread(Handler) as root:
        try:
            yield f"{root}/v1"
        finally:
            over.set()


#: Makes the calls, one after the other on one client, and returns what came of each.
Calls = Callable[..., list[StepResult]]


def blocking(url: str, *calls: Send) -> list[StepResult]:
    with Client(url, KEY) as client:
        return [client._runner.perform(call) for call in calls]


def awaiting(url: str, *calls: Send) -> list[StepResult]:
    async def run() -> list[StepResult]:
        async with AsyncClient(url, KEY) as client:
            return [await client._runner.perform(call) for call in calls]

    return asyncio.run(run())


@pytest.fixture(params=[blocking, awaiting], ids=["sync", "async"])
def calls(request: pytest.FixtureRequest) -> Calls:
    made: Calls = request.param
    return made


@pytest.mark.parametrize(
    ("begin", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
    ],
    ids=["a body", "a body of known length"],
)
def test_an_answer_that_trickles_is_given_up(calls: Calls, begin: bytes, drop: bytes) -> None:
    with trickling(begin, drop) as url:
        (heard,) = calls(url, SOON)

    assert heard.reply == NoReply(TOO_SLOW)
    assert 0.3 <= heard.at - heard.began < 2


def test_a_connection_that_was_used_before_is_bounded_as_well(calls: Calls) -> None:
    with trickling(b"HTTP/1.1 200 OK\r\n\r\n", b" ", after=WHOLE) as url:
        first, second = calls(url, LATER, SOON)

    assert isinstance(first.reply, Reply)
    assert first.reply.body == b"{}"
    assert second.reply == NoReply(TOO_SLOW)


def test_an_unanswered_tls_handshake_is_given_up(calls: Calls) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        (heard,) = calls(f"https://127.0.0.1:{silent.getsockname()[1]}/v1", SOON)

    assert isinstance(heard.reply, NoReply)
    assert not heard.reply.sent
    assert heard.at - heard.began < 2
