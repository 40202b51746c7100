"""Made-up histories of lookups, stored as the service stores them, and rules to try on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from cs.domain import rule_sets
from cs.domain.brand.brand import brand_stream
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, BrandMatch, CheckedPerson, Query, SourceMatches
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import Line, Verdict
from cs.domain.ranking import rank
from cs.domain.stages.work import Discovered, DomainVerified, RankingDone, Resolved
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.keystore.port import KeyStore
from domain.acme_run import AcmeRun, checked, sighting

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
    named: bool = True
    searches: tuple[bool, ...] = (False,)


async def store(log: EventLog, keys: KeyStore, history: Sequence[Looked]) -> list[str]:
    """Append *history* to *log*, a day between two lookups; erase who is to be erased."""
    runs: dict[str, AcmeRun] = {}
    lookups: list[str] = []
    of_key: list[AnyEvent] = [
        KeyIssued(at=AT, label="shop", quota=99, secret_hash="0" * 64, last4="0000")
    ]
    await log.append([Append("key-key_1", NO_STREAM, of_key)])
    erased: list[str] = []
    for day, looked in enumerate(history):
        run, stored = runs.get(looked.brand), 0
        if run is None:
            query = Query(brand=looked.brand)
            run = AcmeRun(stream=brand_stream(query), query=query, at=AT + day * DAY)
            runs[looked.brand] = run
        else:
            stored, run.at = len(run.events), AT + day * DAY
            run.start()
        lookups.append(run.live.id)
        end(run, looked)
        await log.append([Append(run.stream, stored - 1, run.events[stored:])])
        searches = searches_of(run, looked)
        await log.append([Append("key-key_1", len(of_key) - 1, searches)])
        of_key += searches
        erased += (
            f"{run.finish.lookup}#p{n}"
            for n, seen in enumerate(looked.people, 1)
            if seen.erased
        )
    await keys.destroy(erased)
    return lookups


def end(run: AcmeRun, looked: Looked) -> None:
    """Let the live *run* find what was *looked* for, and end."""
    lookup, domain = run.live.id, f"{looked.brand.lower()}.test"
    facts = BrandFacts(name=looked.brand, domain=domain, mail_domains=(domain,))
    found = Resolved(status="matched", brand=facts, sources={"directory": "used"})
    if looked.named:
        matches = (SourceMatches("directory", (BrandMatch(facts=facts, score=0.95),)),)
        found = replace(found, matches=matches, rules=rule_sets.RESOLUTION)
    run.record("brand-resolution", found, lookup=lookup)
    people = tuple(
        sighting(
            f"Jo {'abcdefgh'[n]}",
            seen.headline.format(looked.brand),
            company=None,
            linkedin_url=None,
        )
        for n, seen in enumerate(looked.people, 1)
    )
    run.record("contact-discovery", Discovered(people=people), lookup=lookup)
    ranked, left_out = rank(facts, run.live.people)
    ranking = RankingDone(ranked, left_out=left_out, rules=rule_sets.RANKING)
    run.record("ranking", ranking, lookup=lookup)
    by_number = {f"p{n}": seen.reply for n, seen in enumerate(looked.people, 1)}
    done = DomainVerified(tuple(read(r.person, domain, by_number[r.person]) for r in ranked))
    run.record("verification", done, item=domain, lookup=lookup)


def searches_of(run: AcmeRun, looked: Looked) -> list[AnyEvent]:
    """Return the events of the searches that the last run of *run* answered."""
    ended = run.finish
    events: list[AnyEvent] = []
    for n, cached in enumerate(looked.searches):
        search = f"srch_{run.stream[-8:]}_{ended.lookup.rpartition('.')[2]}_{n}"
        events += [
            SearchAdmitted(
                at=run.at,
                search=search,
                query=run.query,
                brand=looked.brand,
                lookup=ended.lookup,
            ),
            SearchSettled(
                at=run.at,
                search=search,
                lookup=ended.lookup,
                outcome=ended.outcome,
                charged=ended.outcome == "done",
                cached=cached,
            ),
        ]
    return events


def read(person: str, domain: str, reply: str) -> CheckedPerson:
    """Return the checked *person* after a mail server has answered *reply*."""
    yes = REPLIES[reply]
    found = checked(person, Verdict.DELIVERABLE if yes else Verdict.UNDELIVERABLE, at=domain)
    (evidence,) = found.evidence
    said = replace(
        evidence,
        reason="recipient-accepted" if yes else "recipient-refused",
        mx=f"mx.{domain}",
        conversation=conversation(evidence.address, reply),
        rules=rule_sets.MAIL_REPLIES,
    )
    return replace(found, evidence=(said,), rules=rule_sets.VERIFICATION)


def conversation(address: str, reply: str) -> tuple[Line, ...]:
    """Return what was said about *address*, which a server answered with *reply*."""
    domain = address.rpartition("@")[2]
    said = [
        ("C", f"[connect mx.{domain} 127.1.2.3:25]"),
        ("S", f"220 mx.{domain} ESMTP"),
        ("C", "EHLO us.test"),
        ("S", f"250 mx.{domain}"),
        ("C", "MAIL FROM:<>"),
        ("S", "250 2.1.0 Ok"),
        ("C", f"RCPT TO:<{address}>"),
        ("S", reply),
        ("C", f"RCPT TO:<aldous.yarrowfield@{domain}>"),
        ("S", "550 5.1.1 No such user"),
    ]
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
