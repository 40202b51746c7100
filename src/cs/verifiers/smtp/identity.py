"""Who we are to mail servers, and the way on which we come."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from cs.domain.names.brand_names import is_host_name

_MAILBOX = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_SCHEMES = frozenset({"socks5", "socks5h"})


@dataclass(frozen=True)
class Identity:
    """Who we are to the other side.

    Attributes:
        helo: Our host name; its A and PTR records should be those of our address.
        mail_from: A mailbox of a domain of ours, with SPF; empty for ``<>``.
        proxy: Of the SOCKS5 server that we connect through, if we do: ``socks5://host:1080``.
            It is given the addresses that the guard has judged, never names.
    """

    helo: str
    mail_from: str
    proxy: str | None = None


def parse_identity(text: str) -> Identity:
    """Return the identity that stands in a setting: ``HELO [MAIL_FROM] [PROXY]``.

    >>> parse_identity("mail2.example.com check@example.com socks5://10.0.0.2:1080").proxy
    'socks5://10.0.0.2:1080'

    Raises:
        ValueError: It is none; the message has nothing of a proxy's password.
    """
    helo, *rest = text.split() or [""]
    if not is_host_name(helo):
        raise ValueError("an identity begins with a host name")
    mail_from = rest.pop(0) if rest and "://" not in rest[0] else ""
    if mail_from and not _MAILBOX.fullmatch(mail_from):
        raise ValueError(f"the sender of {helo} is no e-mail address")
    proxy = check_proxy(rest.pop(0)) if rest else None
    if rest:
        raise ValueError(f"{helo}: an identity is HELO, then a sender, then a proxy")
    return Identity(helo, mail_from, proxy)


def check_proxy(text: str) -> str:
    """Return *text* if it is the address of a SOCKS5 server.

    Raises:
        ValueError: It is not; the message has nothing of its password.
    """
    try:
        parts = urlsplit(text)
        good = parts.scheme in _SCHEMES and bool(parts.hostname) and bool(parts.port)
    except ValueError:  # its own words repeat what may be the password
        good = False
    if not good:
        raise ValueError(
            "a proxy is an address like socks5://user:password@10.0.0.2:1080; "
            "write / # ? and @ of a password as %2F %23 %3F and %40"
        )
    return text
