"""The shapes of a world file: what outside world the sandbox plays.

docs/sandbox.md explains them to an author of a world.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

# `$(?!\n)`: in Python a bare `$` would let a line end through.
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
Domain = Annotated[
    str,
    msgspec.Meta(
        pattern=rf"^({_LABEL}\.)+{_LABEL}$(?!\n)",
        max_length=253,
        description="A domain name of two or more labels: lower-case, ASCII or xn--.",
    ),
]
LocalPart = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*$(?!\n)",
        max_length=64,
        description="The part of an address before the @: lower-case, no quotes.",
    ),
]
Slug = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9_])?$(?!\n)",
        description="A handle as it stands in an address: a-z, 0-9, dot, dash, underscore.",
    ),
]
Text = Annotated[
    str, msgspec.Meta(min_length=1, max_length=300, description="1 to 300 characters.")
]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600, description="Seconds, from 0 to 600.")]
Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="A share, from 0 to 1.")]
Credits = Annotated[int, msgspec.Meta(ge=0, le=10**9, description="0 to 1000000000.")]
Outcome = Literal[
    "done", "no_linkedin", "no_contacts", "no_emails", "scrape_error", "timeout", "error"
]
KnownBy = Literal["wikidata", "website", "searxng"]
Asked = Literal["brand", "domain", "both"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


def _check_fields(part: "Failure | Behaviour", kinds: Mapping[str, str]) -> None:
    """Check that the kind of *part* is one of the *kinds* of each field that is given."""
    for field in msgspec.structs.fields(part):
        of = kinds.get(field.name, part.kind)
        if part.kind not in of.split() and getattr(part, field.name) != field.default:
            raise ValueError(f"`{field.name}` is of the kind {of.replace(' ', ' or ')}")


class Failure(_Part, frozen=True, kw_only=True):
    """How a service fails, for all brands or for one; docs/sandbox.md describes each kind."""

    kind: Literal[
        "none",
        "down",  # the connection is refused; for one brand it is closed without an answer
        "status",  # an HTTP error, with Retry-After if `retry_after_s` is given
        "not_json",  # 200 with a page of HTML
        "maxlag",  # Wikidata: 200 with its "maxlag" error and Retry-After
        "json_disabled",  # SearXNG: 403, as when `search.formats` does not list json
        "unresponsive",  # SearXNG: no results, and the engines that did not answer
    ] = "none"
    code: Annotated[int, msgspec.Meta(ge=400, le=599, description="400 to 599.")] = 500
    retry_after_s: Annotated[int, msgspec.Meta(ge=0, le=86_400)] | None = None
    engines: tuple[tuple[str, str], ...] = (("duckduckgo", "CAPTCHA"), ("brave", "timeout"))

    def __post_init__(self) -> None:
        """Refuse fields of other kinds."""
        of = {"code": "status", "retry_after_s": "status maxlag", "engines": "unresponsive"}
        _check_fields(self, of)


class Service(_Part, frozen=True, kw_only=True):
    """The state of Wikidata or SearXNG."""

    latency_s: Seconds = 0
    failure: Failure = Failure()

    def __post_init__(self) -> None:
        """Refuse a failure of the other service."""
        kind, is_searxng = self.failure.kind, isinstance(self, Searxng)
        if kind in ({"maxlag"} if is_searxng else {"json_disabled", "unresponsive"}):
            raise ValueError(f"the failure {kind} is not one of this service")


class Searxng(Service, frozen=True, kw_only=True):
    coverage: Share = 1
    """Which share of all profiles it finds, drawn with the world's seed."""


class Services(_Part, frozen=True, kw_only=True):
    """The services every brand shares."""

    wikidata: Service = Service()
    searxng: Searxng = Searxng()


class Trouble(_Part, frozen=True, kw_only=True):
    """Stands in for `Services` in queries about one brand."""

    wikidata: Service | None = None
    searxng: Searxng | None = None


class Site(_Part, frozen=True, kw_only=True):
    """A brand's own web site, on http and https."""

    state: Literal["up", "down"] = "up"
    latency_s: Seconds = 0
    home: Literal["bare", "www"] = "bare"
    """Where the pages are; the other name redirects there."""
    robots: Literal["allow", "disallow"] = "allow"
    former: tuple[Domain, ...] = ()
    """Older domains that redirect here; Wikidata lists them with an end date."""


class Job(_Part, frozen=True, kw_only=True):
    """Where a person worked before, as records that are out of date still say."""

    brand: Text
    """Name of another brand of this world."""
    headline: Text


class Person(_Part, frozen=True, kw_only=True):
    """A person with a profile that the web search finds."""

    name: Text
    headline: Text
    company: Text | None = None
    """As the profile shows it; the brand's name if left out."""
    slug: Slug | None = None
    """Of the profile's address; made from the name if left out."""
    location: Text | None = None
    snippet: Text | None = None
    """More text for the search result."""
    mailbox: LocalPart | None = None
    """At the brand's mail domain; left out: no mailbox."""
    before: Job | None = None


class IntendedResult(_Part, frozen=True, kw_only=True):
    """The intended end of a search for this brand."""

    outcome: Outcome
    asked_by: Annotated[tuple[Asked, ...], msgspec.Meta(min_length=1)] = (
        "brand",
        "domain",
        "both",
    )
    """Ways of asking for which that holds."""
    verified: tuple[Text, ...] = ()
    """The addresses that must come out verified: these, and none but these and the next."""
    may: tuple[Text, ...] = ()
    """Addresses that may, too: they exist, but it takes luck or skill to think of them,
    or they are of a sister brand's people at the same mail domain."""
    tags: tuple[Text, ...] = ()


class Brand(_Part, frozen=True, kw_only=True):
    """One brand, its traces on the web and its people."""

    name: Text
    domain: Domain
    description: Text = "consumer brand"
    aliases: tuple[Text, ...] = ()
    known_by: tuple[KnownBy, ...] = ("wikidata", "website", "searxng")
    linkedin: Slug | None = None
    instagram: Slug | None = None
    tiktok: Slug | None = None
    parent: Text | None = None
    """Name of another brand of this world."""
    mail_domain: Domain | None = None
    """Where its people's mailboxes are; its own domain if left out."""
    site: Site = Site()
    trouble: Trouble = Trouble()
    people: tuple[Person, ...] = ()
    intends: IntendedResult


def addresses_of(brand: Brand) -> dict[str, str]:
    """Return the address of each of *brand*'s people who has one, with the full name."""
    domain = brand.mail_domain or brand.domain
    return {
        f"{person.mailbox}@{domain}": person.name for person in brand.people if person.mailbox
    }


#: The reply of one mailbox to RCPT, however its domain treats the others.
MailboxState = Literal[
    "open",  # 250 2.1.5
    "absent",  # 550 5.1.1
    "full",  # 452 4.2.2
    "over_quota",  # 552 5.2.2
    "disabled",  # 550 5.2.1
    "refuses_us",  # 550 5.7.1
    "too_fast",  # 450 4.2.1
]


class Behaviour(_Part, frozen=True, kw_only=True):
    """How a mail server behaves; what it answers is in `cs.sandbox.smtp`."""

    kind: Literal[
        "plain",  # 250 for its mailboxes and for postmaster, 550 5.1.1 for all others
        "catch_all",  # 250 for every local part
        "greylisting",  # 451 4.7.1 "try again in N seconds"; after N seconds as plain
        "refuses_us",  # 5.7.1 about the client
        "full",  # as plain, but each of its mailboxes is full: 452 4.2.2 or 552 5.2.2
        "disabled",  # as plain, but each of its mailboxes is disabled: 550 5.2.1
        "one_recipient",  # as plain, but the second RCPT of a session gets 452 4.5.3
        "slow",  # as plain, with a wait before each reply, the banner included
        "silent",  # accepts the connection and says nothing
        "starttls_only",  # 530 5.7.0 until STARTTLS, which works; then as plain
        "busy",  # 421 4.3.2 instead of a banner
        "down",  # the connection is refused
    ] = "plain"
    hint_s: Seconds = 0
    """Greylisting: how long the client has to wait."""
    remembers: Literal["recipient", "client"] = "recipient"
    """The key that a wait belongs to: (client, sender, recipient), or the client alone."""
    then: Literal["plain", "silent"] = "plain"
    """After the wait: as plain, or nothing is said any more, not even a banner."""
    at: Literal["banner", "mail", "rcpt"] = "rcpt"
    """Where it refuses us: 554 at the banner, 550 at MAIL or at RCPT."""
    code: Literal[452, 552] = 452
    """The reply about a full mailbox."""
    delay_s: Seconds = 0
    """Slow: before each reply."""

    def __post_init__(self) -> None:
        """Refuse fields of other kinds, and a kind without the field that makes it one."""
        of = {"at": "refuses_us", "code": "full", "delay_s": "slow"}
        _check_fields(self, of | dict.fromkeys(("hint_s", "remembers", "then"), "greylisting"))
        if self.kind == "greylisting" and not self.hint_s:
            raise ValueError("greylisting needs `hint_s`")
        if self.kind == "slow" and not self.delay_s:
            raise ValueError("slow needs `delay_s`")


class MailHost(_Part, frozen=True, kw_only=True):
    """One mail exchanger; its behaviour is the mail domain's if left out."""

    name: Domain
    preference: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 10
    behaviour: Behaviour | None = None


class WorldMailDomain(_Part, frozen=True, kw_only=True):
    """How mail for one domain is taken.  A domain that is not listed is plain."""

    domain: Domain
    behaviour: Behaviour = Behaviour()
    mx: Literal["records", "null", "none"] = "records"
    """MX records; a null MX (RFC 7505); or none, the domain's own address takes mail."""
    dns: Literal["answers", "servfail", "refused", "silent"] = "answers"
    """The answer to a question for its MX records."""
    hosts: tuple[MailHost, ...] = ()
    """With "records"; left out: one, ``mx1.<domain>``."""
    mailboxes: dict[LocalPart, MailboxState] = {}
    """Mailboxes in addition to those of people, and those of people that are not open."""


class Search(_Part, frozen=True, kw_only=True):
    """A search that no single brand owns: an unknown or an ambiguous name."""

    brand: Text | None = None
    domain: Domain | None = None
    outcome: Outcome
    tags: tuple[Text, ...] = ()


class Page(_Part, frozen=True, kw_only=True):
    """A search result that is no profile of a brand's person: an article, a stranger."""

    title: Text
    url: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s]+$(?!\n)", max_length=500)]
    content: Annotated[str, msgspec.Meta(max_length=1_000)] = ""


class Item(_Part, frozen=True, kw_only=True):
    """A Wikidata item that is no brand: a plant, a film, a town."""

    label: Text
    description: Text
    instance_of: Annotated[str, msgspec.Meta(pattern=r"^Q[1-9][0-9]{0,9}$(?!\n)")]


class _Provider(_Part, frozen=True, kw_only=True):
    credits: Credits = 10**9
    """How much it sells before the account is empty, in its own units."""


class SearchEngine(_Provider, frozen=True, kw_only=True):
    """A web search: which profiles it has, and how old its copies are."""

    coverage: Share = 0.8
    """Of all profiles."""
    outdated: Share = 0.1
    """Of the profiles of people who worked elsewhere before: still shown as of that time."""


class PeopleFile(_Provider, frozen=True, kw_only=True):
    """A file of people and companies."""

    coverage: Share = 0.5
    """Of all people."""
    outdated: Share = 0.5
    """Of those who worked elsewhere before: still listed there."""
    misplaced: Share = 0.02
    """Of all its people: listed at another company."""
    addresses: Share = 0.7
    """Of its people: with an address."""
    invented: Share = 0.15
    """Of its addresses: made from the name, whether there is such a mailbox or not."""
    companies: Share = 0.8
    """Of all companies."""


class MailboxService(_Provider, frozen=True, kw_only=True):
    """A verifier."""

    unknown: Share = 0.04
    """Of all addresses: it cannot tell."""


class Providers(_Part, frozen=True, kw_only=True):
    """The share of the world that each provider knows; see `cs.sandbox.providers`."""

    brave: SearchEngine = SearchEngine(coverage=0.75)
    serper: SearchEngine = SearchEngine(coverage=0.85)
    hunter: PeopleFile = PeopleFile(coverage=0.45, addresses=1.0)
    hunter_verifier: MailboxService = MailboxService()
    pdl: PeopleFile = PeopleFile(coverage=0.6, addresses=0.5)
    apollo: PeopleFile = PeopleFile(coverage=0.55)
    reacher: MailboxService = MailboxService(unknown=0.02)
    zerobounce: MailboxService = MailboxService()
    neverbounce: MailboxService = MailboxService()
    millionverifier: MailboxService = MailboxService(unknown=0.08)
    kickbox: MailboxService = MailboxService()


class World(_Part, frozen=True, kw_only=True):
    """One outside world."""

    schema: str = msgspec.field(name="$schema", default="")
    about: str = ""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 1
    """Decides ids, profile addresses and the order of equally good search results."""
    services: Services = Services()
    providers: Providers = Providers()
    brands: Annotated[tuple[Brand, ...], msgspec.Meta(max_length=2_000)]
    mail: Annotated[tuple[WorldMailDomain, ...], msgspec.Meta(max_length=2_000)] = ()
    searches: tuple[Search, ...] = ()
    pages: tuple[Page, ...] = ()
    items: tuple[Item, ...] = ()
