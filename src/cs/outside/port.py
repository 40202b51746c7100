"""Ports to the outside world."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Forbidden(Exception):
    """The guard refuses this address, port or scheme.  Asking again will not help."""


class Unreachable(OSError):
    """No usable answer: DNS, connection, TLS or time-out.  May pass.

    Attributes:
        why: Stable and short: "dns" (no answer), "no-host" (the name has no address),
            "connect", "tls", "timeout", "too-large", "redirects", "robots" (asked to stay
            away), "unavailable" (robots.txt is out of order), "protocol".
    """

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(f"{why}: {detail}" if detail else why)
        self.why = why


class MailHosts(msgspec.Struct, frozen=True):
    """Where a domain takes mail.

    ``hosts`` are in the order to try.  Empty together with ``exists`` means that the
    domain takes no mail at all (null MX, RFC 7505); ``exists=False`` is NXDOMAIN.
    """

    hosts: tuple[str, ...] = ()
    exists: bool = True
    null_mx: bool = False


class Resolver(Protocol):
    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the IPv4 and IPv6 addresses of *host*; ``()`` if it has none.

        Raises:
            Unreachable: ``dns``: SERVFAIL, refused or no answer in time.
        """

    async def mail_hosts(self, domain: str) -> MailHosts:
        """Return where *domain* takes mail, MX records in order of preference.

        Raises:
            Unreachable: As `addresses`.
        """


class Response(msgspec.Struct, frozen=True):
    """A complete HTTP response; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str  # after redirects


class AddressGuard(Protocol):
    """Judges an address before it is contacted; `cs.outside.guard` has the one in use."""

    def check(self, address: str) -> None:
        """Return if the IP address may be contacted.

        Raises:
            Forbidden: It may not.
        """


class Fetcher(Protocol):
    """An HTTP client.  `cs.outside.http` has one for settings' URLs, one for found ones."""

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Fetch *url*; any status is an answer.

        Raises:
            Forbidden: The guard refuses it.
            Unreachable: No usable answer.
        """


class ApiClient(Fetcher, Protocol):
    """An HTTP client for base URLs of the settings, whose services may want to be posted to."""

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Post *body* to *url*; any status is an answer.

        Raises:
            Forbidden: It is no URL.
            Unreachable: No usable answer; ``redirects`` where it leads elsewhere, since what
                is posted goes only to the service that was named.
        """
