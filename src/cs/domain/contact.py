"""People and brands as the stages find them, and contacts as callers get them."""

import msgspec
from msgspec import UNSET, UnsetType

from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.personal import Personal

#: Contacts of one search.  Not part of the contract (contract S6).
CONTACTS = 25


class Query(msgspec.Struct, frozen=True):
    """Query of a lookup: a brand as people say it, a canonical domain, or both."""

    brand: str | None = None
    domain: str | None = None


class BrandFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a brand that is identified."""

    name: str
    domain: str | None = None
    linkedin_company_url: str | None = None
    parent_company: str | None = None  # name, set when the marketing team sits there
    instagram: str | None = None  # full address
    tiktok: str | None = None  # full address
    aliases: tuple[str, ...] = ()
    mail_domains: tuple[str, ...] = ()  # where its people's mailboxes may be, likeliest first
    found_by: dict[str, str] = {}  # field -> source that named it


class BrandMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One brand that may be the one asked for.

    ``score`` is 0 to 1: how sure the source is that this is the brand meant by the
    query (1.0: the asked domain is its own; 0.9: exact name; lower: similar names).
    Two matches that score alike are ambiguous; that is the stage's call, not the source's.
    """

    facts: BrandFacts
    score: float
    key: str = ""  # the source's own id of it, for logs and evidence: "Q123", a domain


class SourceMatches(msgspec.Struct, frozen=True):
    """The brands that one source named, best first: what brand resolution chose from."""

    source: str
    matches: tuple[BrandMatch, ...] = ()


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One person as one people source saw them.  Travels in messages, never in events."""

    full_name: str
    first_name: str | None = None
    last_name: str | None = None
    headline: str | None = None  # as the person wrote it
    company: str | None = None
    linkedin_url: str | None = None
    location: str | None = None
    addresses: tuple[str, ...] = ()  # candidates the source named; never proof
    source: str


class Person(Personal, frozen=True, kw_only=True, tag="person"):
    """One person found in a lookup, sightings of several sources merged."""

    full_name: str
    first_name: str | None = None
    last_name: str | None = None
    headline: str | None = None
    company: str | None = None
    linkedin_url: str | None = None
    location: str | None = None
    addresses: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class RankedPerson(Personal, frozen=True, kw_only=True, tag="ranked"):
    """A person in an eligible role; their place is their place in the list."""

    title: str
    family: str  # influencer | social | partnerships | brand
    level: str  # manager | senior_manager | director | head | vp | c_level
    score: float  # 0 to 1, higher is better


class Opinion(Personal, frozen=True, kw_only=True, tag="opinion"):
    """Opinion of the operator's own language model on a headline that the rules are unsure of.

    Evidence, whether it counted or not: that is `cs.domain.opinions.settled` to say.

    Attributes:
        doubts: Why the rules were unsure (`cs.domain.roles.doubt.Doubt`).
        family, level: As in `Ranked`, or those of other roles.
        title, company: As they stand in the headline.
        model: As the operator names it.
        prompt: What it was asked (`cs.domain.opinions.PROMPT`).
    """

    doubts: tuple[str, ...] = ()
    family: str
    level: str
    title: str | None = None
    company: str | None = None
    model: str = ""
    prompt: str = ""


class LeftOut(msgspec.Struct, frozen=True):
    """Reason why a person found is not ranked, as `cs.domain.ranking.why_left_out` names it."""

    person: str
    why: str


class Candidate(Personal, frozen=True, kw_only=True, tag="candidate"):
    """A person whose mailbox is looked for at one mail domain."""

    full_name: str
    first_name: str | None = None
    last_name: str | None = None
    addresses: tuple[str, ...] = ()  # named by a source; those at another domain are ignored
    settled: tuple[Evidence, ...] = ()  # known before: these addresses are not asked about


class CheckedPerson(Personal, frozen=True, kw_only=True, tag="checked"):
    """Result of verification for one person at one mail domain, with all evidence."""

    mail_domain: str
    verdict: Verdict
    address: str | None = None  # set exactly when the verdict is DELIVERABLE
    verifier: str | None = None
    evidence: tuple[Evidence, ...] = ()
    rules: str | None = None  # that chose among the evidence (`cs.domain.rule_sets`)


class BouncedMailbox(Personal, frozen=True, kw_only=True, tag="bounced"):
    """A mailbox that a mail came back from, and what its server said."""

    address: str
    diagnostic: str = ""


class PersonFacts(Personal, frozen=True, kw_only=True, tag="facts"):
    """Facts that an extra stage found about a person, by name."""

    facts: dict[str, str]


class Contact(Personal, frozen=True, kw_only=True, tag="contact"):
    """One contact of a result, the fields of contract text 2.2 (``person`` is not shown)."""

    full_name: str | None
    first_name: str | None
    last_name: str | None
    title: str | None
    headline: str | None
    company: str | None
    email: str | None
    email_status: str  # verified | not_found
    email_source: str | None
    linkedin_url: str | None
    location: str | None = None
    extras: dict[str, str] | UnsetType = UNSET  # facts of extra stages, by name, if there are
