"""The shapes of a world file: what outside world the sandbox plays.

docs/sandbox.md explains them to an author of a world.
"""

from typing import Annotated, Literal

import msgspec

from cs.sandbox.mail_behaviour import Behaviour, MailboxState, Plain, Seconds

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
Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="A share, from 0 to 1.")]
Credits = Annotated[int, msgspec.Meta(ge=0, le=10**9, description="0 to 1000000000.")]
Outcome = Literal[
    "done", "no_linkedin", "no_contacts", "no_emails", "scrape_error", "timeout", "error"
]
KnownBy = Literal["wikidata", "website", "searxng"]
Asked = Literal["brand", "domain", "both"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class _Failure(_Part, frozen=True, kw_only=True, tag_field="kind"):
    pass


class NoFailure(_Failure, frozen=True, kw_only=True, tag="none"):
    """Answers."""


class NoAnswer(_Failure, frozen=True, kw_only=True, tag="down"):
    """For the whole service: connection refused.  For one brand: closed without a word."""


class Status(_Failure, frozen=True, kw_only=True, tag="status"):
    """An HTTP error, with Retry-After if it is given."""

    code: Annotated[int, msgspec.Meta(ge=400, le=599, description="400 to 599.")]
    retry_after_s: Annotated[int, msgspec.Meta(ge=0, le=86_400)] | None = None


class NotJson(_Failure, frozen=True, kw_only=True, tag="not_json"):
    """200 with a page of HTML where JSON was asked for."""


class MaxLag(_Failure, frozen=True, kw_only=True, tag="maxlag"):
    """Wikidata only: 200 with its "maxlag" error and Retry-After."""

    retry_after_s: Annotated[int, msgspec.Meta(ge=0, le=86_400)] = 5


class JsonDisabled(_Failure, frozen=True, kw_only=True, tag="json_disabled"):
    """SearXNG only: 403, as when `search.formats` does not list json."""


class Unresponsive(_Failure, frozen=True, kw_only=True, tag="unresponsive"):
    """SearXNG only: no results, and the engines that did not answer."""

    engines: tuple[tuple[str, str], ...] = (("duckduckgo", "CAPTCHA"), ("brave", "timeout"))


class Wikidata(_Part, frozen=True, kw_only=True):
    """How Wikidata is doing."""

    latency_s: Seconds = 0
    failure: NoFailure | NoAnswer | Status | NotJson | MaxLag = NoFailure()

    @property
    def is_down(self) -> bool:
        return isinstance(self.failure, NoAnswer)


class Searxng(_Part, frozen=True, kw_only=True):
    """How the web search is doing."""

    latency_s: Seconds = 0
    failure: NoFailure | NoAnswer | Status | NotJson | JsonDisabled | Unresponsive = NoFailure()
    coverage: Share = 1
    """Which share of all profiles it finds, drawn with the world's seed."""

    @property
    def is_down(self) -> bool:
        return isinstance(self.failure, NoAnswer)


class Services(_Part, frozen=True, kw_only=True):
    """The services every brand shares."""

    wikidata: Wikidata = Wikidata()
    searxng: Searxng = Searxng()


class Trouble(_Part, frozen=True, kw_only=True):
    """Stands in for `Services` in queries about one brand."""

    wikidata: Wikidata | None = None
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


class MailHost(_Part, frozen=True, kw_only=True):
    """One mail exchanger; its behaviour is the mail domain's if left out."""

    name: Domain
    preference: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 10
    behaviour: Behaviour | None = None


class WorldMailDomain(_Part, frozen=True, kw_only=True):
    """How mail for one domain is taken.  A domain that is not listed is `Plain`."""

    domain: Domain
    behaviour: Behaviour = Plain()
    mx: Literal["records", "null", "none"] = "records"
    """MX records; a null MX (RFC 7505); or none, the domain's own address takes mail."""
    dns: Literal["answers", "servfail", "refused", "silent"] = "answers"
    """The answer to a question for its MX records."""
    hosts: tuple[MailHost, ...] = ()
    """With "records"; left out: one, ``mx1.<domain>``."""
    mailboxes: dict[LocalPart, MailboxState] = {}
    """Mailboxes beside those of people, and people's that are not simply open."""


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
