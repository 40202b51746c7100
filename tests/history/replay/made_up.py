"""Made-up histories of lookups, stored as the service stores them, and rules to try on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cs.domain import rule_sets
from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import (
    BrandFacts,
    BrandMatch,
    CheckedPerson,
    Person,
    Query,
    SourceMatches,
)
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import Evidence, Line, Verdict
from cs.domain.ranking import rank
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.keystore.port import KeyStore

AT = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
#: What a mail server says of somebody, and whether it is a yes.
REPLIES = {"250 2.1.5 Ok": True, "250 Ok for now": True, "550 5.1.1 No such user": False}


@dataclass(frozen=True)
class Seen:
    """Somebody found: how they call themselves, what their mail server says, whether erased."""

    headline: str
    reply: str
    erased: bool = False


@dataclass(frozen=True)
class Looked:
    """One lookup.

    Attributes:
        named: Whether the brands that sources named were recorded.
        searches: Of each search that it answered: whether it was answered later.
    """

    brand: str
    people: tuple[Seen, ...]
    limit: int = 25
    named: bool = True
    searches: tuple[bool, ...] = (False,)


@dataclass
class Stored:
    """Where the history is: by lookup, what was made up."""

    lookups: dict[str, Looked] = field(default_factory=dict)


async def store(log: EventLog, keys: KeyStore, history: Sequence[Looked]) -> Stored:
    """Append *history* to *log*, a day between two lookups; erase who is to be erased."""
    stored, versions = Stored(), dict[str, int]()
    issued = KeyIssued(at=AT, label="shop", quota=99, secret_hash="0" * 64, last4="0000")
    await log.append([Append("key-key_1", NO_STREAM, [issued])])
    settled = 0
    erased: list[str] = []
    for day, looked in enumerate(history):
        stream = brand_stream(Query(brand=looked.brand))
        number = sum(each.brand == looked.brand for each in stored.lookups.values()) + 1
        lookup = lookup_id(stream, number, "aaaa")
        stored.lookups[lookup] = looked
        events = list(_events(looked, lookup, number, AT + day * DAY))
        version = versions.get(stream, NO_STREAM)
        await log.append([Append(stream, version, events)])
        versions[stream] = version + len(events)
        searches = _searches(looked, lookup, AT + day * DAY)
        if searches:
            await log.append([Append("key-key_1", settled, searches)])
            settled += len(searches)
        erased += (f"{lookup}#p{n}" for n, seen in enumerate(looked.people, 1) if seen.erased)
    await keys.destroy(erased)
    return stored


def domain_of(brand: str) -> str:
    return f"{brand.lower()}.test"


def _events(looked: Looked, lookup: str, number: int, at: datetime) -> Iterator[AnyEvent]:
    query, domain = Query(brand=looked.brand), domain_of(looked.brand)
    yield LookupStarted(
        at=at,
        lookup=lookup,
        number=number,
        query=query,
        deadline_at=at + timedelta(minutes=2),
        contacts=looked.limit,
    )
    facts = BrandFacts(name=looked.brand, domain=domain, mail_domains=(domain,))
    matches = (SourceMatches("directory", (BrandMatch(facts=facts, score=0.95),)),)
    yield BrandResolved(
        at=at,
        lookup=lookup,
        status="matched",
        brand=facts,
        sources={"directory": "used"},
        matches=matches if looked.named else None,
        rules=rule_sets.RESOLUTION if looked.named else None,
    )
    people = tuple(
        Person(
            person=f"p{n}",
            full_name=f"Jo {'abcdefgh'[n]}",
            headline=seen.headline.format(looked.brand),
            sources=("staff",),
        )
        for n, seen in enumerate(looked.people, 1)
    )
    yield ContactsDiscovered(at=at, lookup=lookup, people=people, conclusive=True)
    ranked, left_out = rank(facts, people, limit=looked.limit)
    yield ContactsRanked(
        at=at, lookup=lookup, ranked=ranked, left_out=left_out, rules=rule_sets.RANKING
    )
    verified = 0
    for each in ranked:
        seen = looked.people[int(each.person[1:]) - 1]
        found = checked(each.person, domain, seen.reply)
        yes = REPLIES[seen.reply]
        verified += yes
        kind = MailboxVerified if yes else MailboxNotVerified
        yield kind(at=at, lookup=lookup, checked=found)
    yield LookupFinished(
        at=at,
        lookup=lookup,
        outcome="done" if verified else "no_emails",
        reusable=True,
        verified=verified,
        brand=facts,
    )


def _searches(looked: Looked, lookup: str, at: datetime) -> list[AnyEvent]:
    charged = was_charged(looked)
    events: list[AnyEvent] = []
    for n, cached in enumerate(looked.searches):
        search = f"srch_{lookup[-8:]}_{lookup[6:10]}_{n}"
        events += [
            SearchAdmitted(
                at=at,
                search=search,
                query=Query(brand=looked.brand),
                brand=looked.brand,
                lookup=lookup,
            ),
            SearchSettled(
                at=at,
                search=search,
                lookup=lookup,
                outcome="done" if charged else "no_emails",
                charged=charged,
                cached=cached,
            ),
        ]
    return events


def was_charged(looked: Looked) -> bool:
    facts = BrandFacts(name=looked.brand, domain=domain_of(looked.brand))
    people = [
        Person(person=f"p{n}", full_name=f"Jo {'abcdefgh'[n]}", headline=headline)
        for n, seen in enumerate(looked.people, 1)
        for headline in [seen.headline.format(looked.brand)]
    ]
    ranked, _ = rank(facts, people, limit=looked.limit)
    return any(REPLIES[looked.people[int(each.person[1:]) - 1].reply] for each in ranked)


def checked(person: str, domain: str, reply: str) -> CheckedPerson:
    address = f"{person}@{domain}"
    yes = REPLIES[reply]
    verdict = Verdict.DELIVERABLE if yes else Verdict.UNDELIVERABLE
    found = Evidence(
        address=address,
        verdict=verdict,
        reason="recipient-accepted" if yes else "recipient-refused",
        verifier="smtp",
        at=AT,
        mx=f"mx.{domain}",
        conversation=conversation(address, reply),
        rules=rule_sets.MAIL_REPLIES,
    )
    return CheckedPerson(
        person=person,
        mail_domain=domain,
        verdict=verdict,
        address=address if yes else None,
        verifier="smtp" if yes else None,
        evidence=(found,),
        rules=rule_sets.VERIFICATION,
    )


def conversation(address: str, reply: str) -> tuple[Line, ...]:
    """Return what was said about *address*, which a server answered with *reply*."""
    domain = address.rpartition("@")[2]
    no = "550 5.1.1 No such user"
    said = [
        ("C", f"[connect mx.{domain} 127.1.2.3:25]"),
        ("S", f"220 mx.{domain} ESMTP"),
        ("C", "EHLO us.test"),
        ("S", f"250 mx.{domain}"),
        ("C", "MAIL FROM:<>"),
        ("S", "250 2.1.0 Ok"),
        ("C", f"RCPT TO:<q1w2e3r4t5y6u7i8@{domain}>"),
        ("S", no),
        ("C", f"RCPT TO:<aldous.yarrowfield@{domain}>"),
        ("S", no),
        ("C", "QUIT"),
        ("C", f"[connect mx.{domain} 127.1.2.3:25]"),
        ("S", f"220 mx.{domain} ESMTP"),
        ("C", "EHLO us.test"),
        ("S", f"250 mx.{domain}"),
        ("C", "MAIL FROM:<>"),
        ("S", "250 2.1.0 Ok"),
        ("C", f"RCPT TO:<{address}>"),
        ("S", reply),
    ]
    if REPLIES[reply]:
        said += [("C", f"RCPT TO:<aldous.yarrowfield@{domain}>"), ("S", no)]
    return tuple(Line(at_ms=n, who=who, text=text) for n, (who, text) in enumerate(said))


#: Stricter rules, as somebody would try them.
STRICTER = '''
from cs.domain.mail.mailbox import Verdict
from cs.domain.contact import LeftOut
from cs.domain.ranking import rank as todays_rank
from cs.verifiers.smtp.rereading import reread


def rank(brand, people, limit, opinions):
    """Nobody who does brand marketing is shown."""
    ranked, left_out = todays_rank(brand, people, limit=len(people), opinions=opinions)
    shown = tuple(each for each in ranked if each.family != "brand")
    others = {each.person for each in ranked} - {each.person for each in shown[:limit]}
    not_shown = tuple(LeftOut(person, "not-wanted") for person in sorted(others))
    return shown[:limit], (*left_out, *not_shown)


def read_reply(evidence):
    """Who is accepted for now is not accepted."""
    if any(line.who == "S" and "for now" in line.text for line in evidence.conversation):
        return "unknown", "for-now"
    return reread(evidence)
'''


def said(rows: Sequence[Mapping[str, object]], kind: str) -> list[Mapping[str, object]]:
    """Return those of *rows*, as the command prints them, that are of *kind*."""
    return [row for row in rows if row["kind"] == kind]
