"""The two HTTP clients: one for addresses from the settings, one for all others."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import httpcore
import httpx

from cs.outside.body import ACCEPT_ENCODING, read_body
from cs.outside.connections import Backend, BoundedStream, checked_addresses
from cs.outside.guard import Guard, host_of
from cs.outside.port import Forbidden, Resolver, Response, Unreachable
from cs.outside.robots import Robots
from cs.runtime.coordination import KeyedLock

#: The name that robots.txt may call us by.
ROBOT = "contact-search"
#: Redirects that are followed.
REDIRECTS = 3
#: Longest time for one `get`, redirects, robots.txt and waiting in turn included.
TOTAL_S = 10.0
#: Longest body, both as it comes and decompressed.
MAX_BYTES = 2 * 1024 * 1024
#: Requests of one client at the same time, a connection each.
CONNECTIONS = 100

_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_NO_ANSWER = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)


def user_agent(contact: str | None) -> str:
    """Return who we say we are.

    Args:
        contact: Where a person who looks after this service is reached: an address or a
            URL.  Wikimedia asks for one, and sites that are unhappy need one.
    """
    about = f" ({contact})" if contact else ""
    return f"{ROBOT}/{version('contact-search')}{about}"


class TrustedClient(AbstractAsyncContextManager["TrustedClient"]):
    """Fetches from base URLs that the operator configured, private ones too.

    A redirect to another origin is not followed: it could carry a key away.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        total_s: float = TOTAL_S,
        ca_file: Path | None = None,
    ) -> None:
        self._requests = _Requests(Backend(), user_agent=user_agent, ca_file=ca_file)
        self._total_s = total_s

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Fetch *url*; see `cs.outside.port.Fetcher`."""
        start = _parse(url, params)

        async def get_once(target: httpx.URL) -> Response:
            if _origin(target) != _origin(start):
                raise Unreachable("redirects", f"{host_of(start)} leads to another origin")
            return await self._requests.send(target, headers or {})

        async with _time_limit(self._total_s, start):
            return await _follow_redirects(start, get_once)

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Post *body* to *url*; see `cs.outside.port.ApiClient`."""
        target = _parse(url, None)
        async with _time_limit(self._total_s, target):
            answer = await self._requests.send(target, headers or {}, body)
        if _redirect_of(answer) is not None:
            raise Unreachable("redirects", f"{host_of(target)} leads a posted request on")
        return answer

    async def __aexit__(self, *_: object) -> None:
        await self._requests.aclose()


class GuardedClient(AbstractAsyncContextManager["GuardedClient"]):
    """Fetches what a caller or the web named, as a polite robot that cannot be led astray.

    Every address and every redirect is judged by *guard* and dialled as judged; robots.txt
    is obeyed; a host is asked one thing at a time.

    Args:
        web_ports: Where http and https are for a URL that names no port.
        total_s: For one `get`, robots.txt, redirects and waiting in turn included.

    Raises:
        ValueError: *web_ports* are not among those of *guard*.
    """

    def __init__(
        self,
        guard: Guard,
        resolver: Resolver,
        *,
        user_agent: str,
        web_ports: tuple[int, int] = (80, 443),
        total_s: float = TOTAL_S,
        ca_file: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not guard.web_ports.issuperset(web_ports):
            raise ValueError(f"the guard does not open the web ports {web_ports}")
        backend = Backend(checked_addresses(guard, resolver), web_ports=web_ports)
        self._requests = _Requests(backend, user_agent=user_agent, ca_file=ca_file)
        self._guard = guard
        self._total_s = total_s
        self._locks = KeyedLock()
        self._robots = Robots(self._follow, robot=ROBOT, monotonic=monotonic)

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Fetch *url*; see `cs.outside.port.Fetcher`.

        Raises:
            Forbidden: The URL, an address of its host or those of a redirect are refused.
            Unreachable: No usable answer; ``robots`` if the site asks robots to stay away,
                ``no-host`` if the name has no address.
        """
        self._guard.check_url(url)
        target = _parse(url, params)
        async with _time_limit(self._total_s, target):
            return await self._follow(target, headers or {}, obey=True)

    async def _follow(
        self, start: httpx.URL, headers: Mapping[str, str] | None = None, *, obey: bool = False
    ) -> Response:
        async def get_once(target: httpx.URL) -> Response:
            self._guard.check_url(str(target))
            if obey and not await self._robots.allow(target):
                raise Unreachable("robots", host_of(target))
            # What the caller sends is for the host it named, no other.
            own = headers or {} if _origin(target) == _origin(start) else {}
            async with self._locks.of(host_of(target).removesuffix(".")):
                return await self._requests.send(target, own)

        return await _follow_redirects(start, get_once)

    async def __aexit__(self, *_: object) -> None:
        await self._requests.aclose()


class _Requests:
    """Sends single requests: no redirects, no cookies, no environment.

    The caller limits the time of each (httpcore's timers for every wait would cost more).

    Args:
        backend: Dials hosts.
        user_agent: Our name, with a way to reach a person (`user_agent`).
        ca_file: Authorities that are trusted in addition to certifi's.
    """

    def __init__(self, backend: Backend, *, user_agent: str, ca_file: Path | None) -> None:
        trusted = httpx.create_ssl_context(trust_env=False)
        if ca_file is not None:
            trusted.load_verify_locations(ca_file)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=trusted,
            max_connections=CONNECTIONS,
            max_keepalive_connections=0,
            network_backend=backend,
        )
        # Nothing waits inside the pool: a wait that is cancelled there may keep a connection.
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._headers = {
            "user-agent": user_agent,
            "accept": "*/*",
            "accept-encoding": ACCEPT_ENCODING,
            "connection": "close",
        }

    async def send(
        self, url: httpx.URL, headers: Mapping[str, str], body: bytes | None = None
    ) -> Response:
        """Fetch *url* once, or post *body* to it; any status is an answer, a redirect too.

        *headers* are sent with the usual ones, in place of those of the same name.

        Raises:
            Forbidden: An address is refused.
            Unreachable: No usable answer.
        """
        host = {"host": url.netloc.decode("ascii")}
        sent = host | self._headers | {name.lower(): text for name, text in headers.items()}
        _check_values(sent)
        asking = self._pool.stream(
            "GET" if body is None else "POST",
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=[*sent.items()],
            content=body,
        )
        try:
            async with self._slots, asking as answer:
                fields = httpx.Headers(answer.headers)
                stream = answer.extensions["network_stream"]
                if isinstance(stream, BoundedStream):  # else the answer is 101, without a body
                    stream.allow_body(MAX_BYTES)
                declared = fields.get("content-length", "")
                if declared.isdecimal() and int(declared) > MAX_BYTES:
                    raise Unreachable("too-large", f"{declared} bytes")
                received = await read_body(
                    answer.aiter_stream(),
                    encoding=fields.get("content-encoding", ""),
                    max_bytes=MAX_BYTES,
                )
        except _NO_ANSWER as error:
            words = str(error) or type(error.__cause__ or error).__name__
            raise Unreachable(_why(error), f"{host_of(url)}: {words}") from error
        return Response(answer.status, dict(fields), received, str(url))

    async def aclose(self) -> None:
        await self._pool.aclose()


def _check_values(headers: Mapping[str, str]) -> None:
    """Check that *headers* can be sent: a line break would begin another (RFC 9110, 5.5).

    Raises:
        Unreachable: One cannot; its value, which may be a key, is not shown.
    """
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            why = f"the header {name} has a value that no header may have; it was not sent"
            raise Unreachable("protocol", why)


def _why(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:  # the pool re-raises "from None": the cause is only the context
        if isinstance(cause, ssl.SSLError):
            return "tls"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpcore.TimeoutException):
        return "timeout"
    return "connect" if isinstance(error, httpcore.ConnectError) else "protocol"


def _parse(url: str, params: Mapping[str, str] | None) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):  # its words may quote a part of a password
        raise Forbidden("not a URL") from None
    return parsed.copy_merge_params(dict(params)) if params else parsed


async def _follow_redirects(
    start: httpx.URL, get_once: Callable[[httpx.URL], Awaitable[Response]]
) -> Response:
    """Return the answer that *start* and its redirects lead to."""
    target = start
    for _ in range(REDIRECTS + 1):
        answer = await get_once(target)
        redirect = _redirect_of(answer)
        if redirect is None:
            return answer
        target = redirect
    raise Unreachable("redirects", f"{host_of(start)}: more than {REDIRECTS}")


def _redirect_of(answer: Response) -> httpx.URL | None:
    """Return where *answer* sends us, if it does.

    Raises:
        Unreachable: ``protocol``: to something that is no URL.
    """
    where = answer.headers.get("location")
    if answer.status not in _REDIRECTING or not where:
        return None
    try:
        return httpx.URL(answer.url).join(where).copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError) as error:  # urljoin's, for half an IPv6 address
        raise Unreachable("protocol", f"redirect to no URL: {error}") from error


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, host_of(url), url.port


@asynccontextmanager
async def _time_limit(total_s: float, url: httpx.URL) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(total_s):
            yield
    except TimeoutError as error:
        raise Unreachable("timeout", f"{host_of(url)}: more than {total_s} s") from error
