"""Syntax of mailboxes that SMTP can be asked about (RFC 5321, 4.1.2)."""

import re

import idna

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*|{_QUOTED}", re.ASCII)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+", re.ASCII)
#: Longer than any name of 253 ASCII characters is ever written.
_WRITTEN_MAX = 1024


def is_mailbox(address: str) -> bool:
    """Say whether *address* is ``local-part@domain`` in ASCII, within RFC 5321's lengths.

    Address literals (``jo@[192.0.2.1]``) and single-label domains are none here.

    >>> is_mailbox("jo.lane@acme.example"), is_mailbox("jo..lane@acme.example")
    (True, False)
    """
    local, at, domain = address.rpartition("@")
    # RFC 5321, 4.5.3.1: local-part 64, domain 255, path 256 with its brackets.
    return bool(
        at
        and len(local) <= 64
        and len(address) <= 254
        and _LOCAL.fullmatch(local)
        and is_mail_domain(domain)
    )


def is_mail_domain(domain: str) -> bool:
    """Say whether *domain* is an ASCII host name of two labels or more, no dot at its end."""
    return len(domain) <= 253 and bool(_DOMAIN.fullmatch(domain))


def ascii_mailbox(address: str) -> str:
    """Return *address* with the domain in A-labels; as it is if that cannot be.

    >>> ascii_mailbox("jo@exämple.de"), ascii_mailbox("jo@exämple..de")
    ('jo@xn--exmple-cua.de', 'jo@exämple..de')
    """
    local, at, domain = address.strip().rpartition("@")
    return f"{local}{at}{_ascii_domain(domain)}"


def _ascii_domain(domain: str) -> str:
    if domain.isascii() or len(domain) > _WRITTEN_MAX:
        return domain
    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except UnicodeError:  # idna.IDNAError is one
        return domain
