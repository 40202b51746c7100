"""The settings of the verifier: our identities, and which servers refuse which of them.

Servers of one operator (``*.mail.protection.outlook.com``) share what they think of us.  Where
several mail domains in a row hear a refusal about us, asking on makes it worse, and every
answer would be `unknown` all the same: a circuit breaker for each group of servers.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from cs.domain.mail.reply_meaning import STATEMENTS, ReplyKind
from cs.domain.names.brand_names import is_host_name
from cs.plugins.verifiers import SECRET
from cs.runtime.lru import LruDict

_MAILBOX = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_SCHEMES = frozenset({"socks5", "socks5h"})
#: Mail domains in a row that hear a refusal about us before an identity is given a rest.
REFUSALS = 3
#: Its length; then one mail domain tries again.
REST_S = 1_800.0
#: Groups that are remembered, of each identity.
_GROUPS = 4_096
#: Replies about us, not about a recipient.
_ABOUT_US = frozenset({ReplyKind.ABOUT_US, ReplyKind.SENDER})

#: Sessions to one address at once: one that asks and one that ends or begins.
#: Postfix lets one client have 50 (smtpd_client_connection_count_limit), small hosts far less.
SESSIONS = 2
Wait = Annotated[float, Meta(gt=0, le=600)]

#: Called with what is wrong with a group, and ``None`` when it is well again.
TellOperator = Callable[[str, str | None], None]


@dataclass(frozen=True)
class Identity:
    """One identity towards mail servers.

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


class SmtpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of ``[verifiers.smtp]``; seconds end in ``_s``.

    Some servers think for 12 s before each answer to RCPT, and are waited for: two probes, the
    person and a control are four answers.
    """

    helo: Annotated[str, Meta(description="our host name; empty: off")] = ""
    mail_from: Annotated[
        str,
        Meta(pattern=r"^([^@\s]+@[^@\s]+)?$", description="a mailbox of ours; empty: <>"),
    ] = ""
    proxy: Annotated[
        str, SECRET, Meta(description="a SOCKS5 server, socks5://user:password@host:1080")
    ] = ""
    identities: Annotated[
        tuple[str, ...],
        SECRET,
        Meta(max_length=20, description="more that we may be: HELO [MAIL_FROM] [PROXY]"),
    ] = ()
    port: Annotated[int, Meta(ge=1, le=65535)] = 25
    salt: Annotated[str, SECRET, Meta(description="makes the probes our own")] = ""
    sessions: Annotated[
        int, Meta(ge=1, le=20, description="to one address of an exchanger at once")
    ] = SESSIONS
    address_s: Wait = 60.0
    connect_s: Wait = 5.0
    reply_s: Wait = 10.0

    def all_identities(self) -> list[Identity]:
        """Return the identities that we may use.

        Raises:
            ValueError: One is none; the message has nothing of a proxy's password.
        """
        proxy = check_proxy(self.proxy) if self.proxy else None
        own = Identity(self.helo, self.mail_from, proxy)
        return [own, *map(parse_identity, self.identities)]


class _Standing(msgspec.Struct):
    """How one identity stands with one group."""

    refused: set[str] = msgspec.field(default_factory=set)  # mail domains since it was heard
    rests_until: float | None = None


class SenderHealth:
    """Chooses who we are to a mail domain's servers, by how they answered lately.

    Args:
        identities: All that we may be, one or more.
        monotonic: Seconds.
        tell: Called for each group that refuses one of them, and when it does again.
    """

    def __init__(
        self,
        identities: Sequence[Identity],
        monotonic: Callable[[], float],
        tell: TellOperator = lambda _name, _why: None,
    ) -> None:
        self._identities = tuple(identities)
        self._monotonic = monotonic
        self._tell = tell
        self._standings = LruDict[tuple[Identity, str], _Standing](
            _GROUPS * len(self._identities)
        )

    def choose(self, mail_domain: str, host: str) -> Identity | float:
        """Return who we are to *mail_domain*, whose first exchanger is *host*.

        The same for the same domain as long as it is well: a greylist opens to clients it has
        seen.  Where all rest, seconds until one tries again.
        """
        group, now = group_of(host), self._monotonic()
        waits = []
        for identity in sorted(self._identities, key=lambda each: _order(each, mail_domain)):
            standing = self._standings.get((identity, group))
            if standing is None or standing.rests_until is None:
                return identity
            if standing.rests_until <= now:
                standing.rests_until = now + REST_S  # others wait for what this one hears
                return identity
            waits.append(standing.rests_until - now)
        return min(waits)

    def note(self, identity: Identity, mail_domain: str, host: str, kind: ReplyKind) -> None:
        """Learn from a reply of *host* to *identity*, asked about *mail_domain*."""
        group = group_of(host)
        if kind in STATEMENTS:
            before = self._standings.pop((identity, group), None)
            if before is not None and before.rests_until is not None:
                self._tell(f"{group} as {identity.helo}", None)
            return
        if kind not in _ABOUT_US:
            return
        standing = self._standings.get((identity, group)) or _Standing()
        self._standings[identity, group] = standing
        if len(standing.refused) < REFUSALS:
            standing.refused.add(mail_domain)
        if len(standing.refused) < REFUSALS:
            return
        if standing.rests_until is None:
            self._tell(f"{group} as {identity.helo}", _refusal(kind))
        standing.rests_until = self._monotonic() + REST_S


def group_of(host: str) -> str:
    """Return whose servers *host* is one of, as far as its name says.

    >>> group_of("acme-com.mail.protection.outlook.com"), group_of("mx.mail.example.co.uk")
    ('outlook.com', 'example.co.uk')
    """
    labels = host.lower().rstrip(".").split(".")
    is_short = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3:] if is_short else labels[-2:])


def _order(identity: Identity, mail_domain: str) -> bytes:
    return sha256(f"{identity.helo}\0{mail_domain}".encode()).digest()


def _refusal(kind: ReplyKind) -> str:
    what = "our sender" if kind is ReplyKind.SENDER else "us"
    return (
        f"its mail servers refuse {what}, {REFUSALS} mail domains in a row; they are asked "
        f"again in {REST_S / 60:g} minutes. Run `cs doctor`"
    )
