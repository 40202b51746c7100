"""What the checks ask of DNS."""

from typing import Protocol

from cs.outside.port import MailHosts


class DnsRecords(Protocol):
    """`cs.outside.resolver` has the one in use.

    Every method raises `cs.outside.port.Unreachable` where there is no usable answer.
    """

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of *host*; ``()`` if it has none."""

    async def mail_hosts(self, domain: str) -> MailHosts:
        """Return where *domain* takes mail."""

    async def texts(self, name: str) -> tuple[str, ...]:
        """Return the TXT records of *name*, the strings of each put together."""

    async def names(self, address: str) -> tuple[str, ...]:
        """Return the names that an IP address has by its PTR records, lower-case."""
