"""Who may use the console: tokens, sessions, a trusted header of a proxy, and roles.

A session is a signed cookie, so any process that holds the key store can check it.  The
operator is read from the log at every call: a revoked one is out at the next.
"""

import hmac
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address, ip_network

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from cs.domain.api_key import hash_key
from cs.domain.console_operator import ConsoleOperator, OperatorRole, operator_stream
from cs.domain.refusal import Refusal
from cs.eventlog.streams import Streams
from cs.runtime.clock import Clock
from cs.runtime.ids import random_id
from cs.runtime.lru import LruDict

COOKIE = "cs_console"
#: The name, in the key store, of what signs cookies.
SIGNED_WITH = "console"
#: A session without a call for so long ends, and one of this age whatever it does.
IDLE, LONGEST = timedelta(minutes=30), timedelta(hours=12)
#: Failed logins by one name from one address in a minute; then further ones are refused unread.
#: So are those of an address by any names: many operators may come from that of a proxy.
FAILURES, FAILURES_FROM, FAILURES_OF = 5, 60, timedelta(minutes=1)
#: Names and addresses whose failures are remembered, and sessions that were ended.
ADDRESSES = 10_000
#: Characters of the hash of a token that a session repeats.
TOKEN = 16
#: Headers that say that a call was passed on.
_BY_A_PROXY = frozenset({"forwarded", "via", "x-real-ip"}) | {
    f"x-forwarded-{what}" for what in ("for", "host", "proto")
}
#: The operator of a sandbox on loopback, who needs no token.
SANDBOX = "sandbox"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A signed-in operator.

    Attributes:
        name: Of the operator; stored with what it does.
        csrf: What every form repeats: a page of another site cannot know it.
        token: The beginning of the hash of the token that it began with: a new token ends it.
    """

    name: str
    role: OperatorRole
    csrf: str
    token: str = ""
    began_at: datetime
    seen_at: datetime

    def may(self, role: OperatorRole) -> bool:
        return ConsoleOperator(self.role).may(role)


class Access:
    """Checks calls of the console.

    Args:
        streams: Where operators are.
        secret: Signs cookies.
        clock: Of the service.
        open_role: What a caller on loopback may do without a token; ``None``: nothing.
        user_header: The header in which a trusted proxy names the operator.
        proxies: The networks of proxies whose header, and whose word that a call came over
            TLS, are believed.
        insecure: Whether calls from elsewhere may come without TLS.
    """

    def __init__(
        self,
        streams: Streams,
        secret: bytes,
        clock: Clock,
        *,
        open_role: OperatorRole | None = None,
        user_header: str | None = None,
        proxies: Sequence[str] = (),
        insecure: bool = False,
    ) -> None:
        self._streams = streams
        self._secret = secret
        self._clock = clock
        self._open_role = open_role
        self._user_header = user_header
        self._proxies = [ip_network(each) for each in proxies]
        self._insecure = insecure
        self._failures = LruDict[str, list[datetime]](ADDRESSES)
        self._over = LruDict[str, datetime](ADDRESSES)

    async def session(self, request: HTTPConnection) -> Session | None:
        """Return the session of *request*; ``None``: it has to sign in.

        Raises:
            HTTPException: 403: it came from elsewhere without TLS, or as an unknown operator.
            LogUnavailable: The operator cannot be read now.
        """
        self._check_transport(request)
        now = self._clock.wall()
        if self._user_header and self._is_proxy(request):
            named = request.headers.getlist(self._user_header)
            if len(named) > 1:
                raise HTTPException(403, "the proxy passes on a header that the caller sent")
            if named:
                return await self._named(named[0], now)
        if self._open_role is not None and self._is_here(request):
            return self._begin(SANDBOX, self._open_role, now, nonce=SANDBOX)
        found = self._read(request.cookies.get(COOKIE, ""))
        if found is None or now - found.seen_at > IDLE or now - found.began_at > LONGEST:
            return None
        if self.is_over(found):
            return None
        known = await self._operator(found.name)
        if known.role is None or known.token_hash[:TOKEN] != found.token:
            return None
        return msgspec.structs.replace(found, role=known.role, seen_at=now)

    async def sign_in(self, request: Request, name: str, token: str) -> Session | None:
        """Return a session of the operator *name* with *token*; ``None``: they do not match.

        Raises:
            HTTPException: 429: it failed too often from there; 403: as `session`.
            LogUnavailable: The operator cannot be read now.
        """
        self._check_transport(request)
        now = self._clock.wall()
        address = self._caller(request)
        limits = {f"{name.lower()[:64]} {address}": FAILURES, address: FAILURES_FROM}
        for who, most in limits.items():
            failed = [at for at in self._failures.get(who, ()) if now - at < FAILURES_OF]
            if len(failed) >= most:
                raise HTTPException(429, "too many failed sign-ins; try again in a minute")
            self._failures[who] = [*failed, now]  # before it is known: many may come at once
        known = await self._operator(name)
        matches = hmac.compare_digest(known.token_hash, hash_key(token))
        if known.role is None or not matches:
            return None
        for who in limits:
            self._failures[who] = [at for at in self._failures.get(who, ()) if at is not now]
        begun = self._begin(name.lower(), known.role, now)
        return msgspec.structs.replace(begun, token=known.token_hash[:TOKEN])

    def sign_out(self, session: Session) -> None:
        """End *session* in this process; others let its cookie be until it is idle."""
        self._over[session.csrf] = session.seen_at

    def is_over(self, session: Session) -> bool:
        """Return whether *session* was ended by `sign_out`."""
        return session.csrf in self._over

    def remember(self, response: Response, session: Session, request: Request) -> None:
        """Give *response* the cookie of *session*, seen now."""
        signed = msgspec.json.encode(session)
        response.set_cookie(
            COOKIE,
            f"{signed.hex()}.{self._sign(signed)}",
            max_age=round(LONGEST.total_seconds()),
            path="/console",
            secure=self._is_proxied_tls(request),
            httponly=True,
            samesite="strict",
        )

    async def _named(self, name: str, now: datetime) -> Session:
        role = (await self._operator(name)).role
        if role is None:
            why = "this user is no operator of the console: `cs operators create`"
            raise HTTPException(403, why)
        return self._begin(name.lower(), role, now, nonce=name.lower())

    async def _operator(self, name: str) -> ConsoleOperator:
        try:
            found: ConsoleOperator = (await self._streams.load(operator_stream(name))).state
        except Refusal:
            return ConsoleOperator()
        return found

    def _begin(
        self, name: str, role: OperatorRole, now: datetime, nonce: str | None = None
    ) -> Session:
        csrf = self._sign(f"csrf {now.date()} {nonce or random_id('', 26)}".encode())
        return Session(name=name, role=role, csrf=csrf, began_at=now, seen_at=now)

    def _read(self, cookie: str) -> Session | None:
        text, _, signature = cookie.partition(".")
        try:
            signed = bytes.fromhex(text)
            if not hmac.compare_digest(self._sign(signed), signature):
                return None
            return msgspec.json.decode(signed, type=Session)
        except (ValueError, TypeError):  # `compare_digest` takes ASCII alone
            return None

    def _sign(self, text: bytes) -> str:
        return hmac.new(self._secret, text, sha256).hexdigest()

    def _check_transport(self, request: HTTPConnection) -> None:
        if not (self._insecure or self._is_here(request) or self._is_proxied_tls(request)):
            raise HTTPException(
                403,
                "the console answers calls from elsewhere only through a proxy that ends TLS "
                "(console_proxies), or with insecure_console = true",
            )

    def _is_here(self, request: HTTPConnection) -> bool:
        """Return whether the caller is on this machine, and speaks for itself."""
        if self._is_proxy(request) or not _BY_A_PROXY.isdisjoint(request.headers.keys()):
            return False
        return self._address(request, lambda each: each.is_loopback)

    def _is_proxied_tls(self, request: HTTPConnection) -> bool:
        proto = request.headers.getlist("x-forwarded-proto")
        return self._is_proxy(request) and proto == ["https"]

    def _caller(self, request: HTTPConnection) -> str:
        """Return the address that is the caller's: of a trusted proxy the one that it saw."""
        seen = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        if self._is_proxy(request) and seen:
            return seen[:64]
        return request.client.host if request.client else ""

    def _is_proxy(self, request: HTTPConnection) -> bool:
        return self._address(request, lambda each: any(each in of for of in self._proxies))

    def _address(self, request: HTTPConnection, holds: Callable[..., bool]) -> bool:
        try:
            if request.client is None:
                return False
            address = ip_address(request.client.host)
            return holds(getattr(address, "ipv4_mapped", None) or address)
        except ValueError:
            return False
