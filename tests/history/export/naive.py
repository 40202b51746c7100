"""What the typed tables should hold, said once more: in plain loops, over events in clear."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactBounced,
    ContactsDiscovered,
    ContactsErased,
    ContactsRanked,
    LookupEvent,
    LookupFinished,
    LookupStarted,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    TimerCause,
)
from cs.domain.codec import topic_of
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    SearchSettled,
)
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.domain.person import PersonErased
from cs.eventlog.port import RecordedEvent

Row = dict[str, Any]
Recorded = Sequence[RecordedEvent]


def time(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None)


def seconds(first: datetime, last: datetime | None) -> float | None:
    return None if last is None else (last - first).total_seconds()


def erased(events: Recorded) -> set[str]:
    """Return everybody whom some event of *events* erased, or of whom nothing is kept."""
    found: set[str] = set()
    for recorded in events:
        match recorded.event:
            case ContactsErased(lookup=lookup, people=gone):
                found |= {f"{lookup}#{person}" for person in gone}
            case PersonErased(found_in=names):
                found |= set(names)
            case PeopleFound(lookup=lookup, people=people):
                found |= {f"{lookup}#{p.person}" for p in people if not p.full_name}
            case ContactsDiscovered(lookup=lookup, people=people):
                found |= {f"{lookup}#{p.person}" for p in people if not p.full_name}
            case _:
                pass
    return found


def events_table(events: Recorded) -> list[Row]:
    return [
        {
            "position": r.position,
            "stream": r.stream,
            "version": r.version,
            "type": topic_of(r.event),
            "happened_at": time(r.event.at),
            "lookup": getattr(r.event, "lookup", None),
            "cause": None if r.caused_by is None else type(r.caused_by).__struct_config__.tag,
            "request": _if(r.caused_by, RequestCause, "id"),
            "message": _if(r.caused_by, MessageCause, "id"),
            "attempt": _if(r.caused_by, MessageCause, "attempt"),
            "timer": _if(r.caused_by, TimerCause, "timer"),
            "command": _if(r.caused_by, OperatorCause, "command"),
            "operator": _if(r.caused_by, OperatorCause, "who"),
            "caused_by": _if(r.caused_by, EventCause, "position"),
        }
        for r in events
    ]


def _if(cause: AnyCause | None, kind: type[AnyCause], named: str) -> Any:
    return getattr(cause, named) if isinstance(cause, kind) else None


def searches(events: Recorded) -> list[Row]:
    rows: dict[str, Row] = {}
    began: dict[str, str] = {}  # lookup -> the search that it was started for
    for r in events:
        match r.event:
            case SearchAdmitted() as e:
                rows[e.search] = {
                    "search": e.search,
                    "key": r.stream.removeprefix("key-"),
                    "brand": e.brand,
                    "asked_brand": e.query.brand,
                    "asked_domain": e.query.domain,
                    "lookup": e.lookup,
                    "asked_at": time(e.at),
                    "settled_at": None,
                    "seconds": None,
                    "outcome": None,
                    "charged": None,
                    "cached": None,
                    "joined": False,
                    "repeats": 0,
                    "idempotent": e.idempotency is not None,
                    "request": e.request,
                    "position": r.position,
                    "settled_position": None,
                }
            case SearchRepeated(search=search):
                rows[search]["repeats"] += 1
            case SearchSettled() as e:
                row = rows[e.search]
                row["settled_at"] = time(e.at)
                row["seconds"] = (row["settled_at"] - row["asked_at"]).total_seconds()
                row["outcome"], row["charged"], row["cached"] = e.outcome, e.charged, e.cached
                row["settled_position"] = r.position
            case _:
                pass
    for search, row in rows.items():
        if not row["cached"]:
            row["joined"] = began.setdefault(row["lookup"], search) != search
    return list(rows.values())


def charges(events: Recorded) -> list[Row]:
    verified = {
        r.event.lookup: r.event.verified for r in events if isinstance(r.event, LookupFinished)
    }
    brand = {
        r.event.search: r.event.brand for r in events if isinstance(r.event, SearchAdmitted)
    }
    return [
        {
            "charged_at": time(r.event.at),
            "key": r.stream.removeprefix("key-"),
            "search": r.event.search,
            "lookup": r.event.lookup,
            "brand": brand[r.event.search],
            "cached": r.event.cached,
            "verified": verified.get(r.event.lookup),
            "position": r.position,
        }
        for r in events
        if isinstance(r.event, SearchSettled) and r.event.charged
    ]


def keys(events: Recorded) -> list[Row]:
    rows: dict[str, Row] = {}
    for r in events:
        key = r.stream.removeprefix("key-")
        match r.event:
            case KeyIssued() as e:
                rows[key] = {
                    "key": key,
                    "label": e.label,
                    "quota": e.quota,
                    "used": 0,
                    "reserved": 0,
                    "searches": 0,
                    "rotated": 0,
                    "issued_at": time(e.at),
                    "revoked_at": None,
                    "last_search_at": None,
                    "position": r.position,
                }
            case QuotaGranted(units=units):
                rows[key]["quota"] += units
            case KeyRotated():
                rows[key]["rotated"] += 1
            case KeyRevoked(at=at):
                rows[key]["revoked_at"] = time(at)
            case SearchAdmitted(at=at):
                rows[key]["searches"] += 1
                rows[key]["reserved"] += 1
                rows[key]["last_search_at"] = time(at)
            case SearchSettled(charged=charged):
                rows[key]["reserved"] -= 1
                rows[key]["used"] += charged
            case _:
                pass
    return list(rows.values())


def key_events(events: Recorded) -> list[Row]:
    rows: list[Row] = []
    for r in events:
        match r.event:
            case KeyIssued(quota=units):
                what: str = "issued"
                changed: int | None = units
            case QuotaGranted(units=units):
                what, changed = "granted", units
            case KeyRotated():
                what, changed = "rotated", None
            case KeyRevoked():
                what, changed = "revoked", None
            case _:
                continue
        rows.append(
            {
                "key": r.stream.removeprefix("key-"),
                "happened_at": time(r.event.at),
                "what": what,
                "units": changed,
                "operator": r.event.by,
                "position": r.position,
            }
        )
    return rows


def lookups(events: Recorded) -> list[Row]:
    asked = searches(events)
    rows: list[Row] = []
    for r in events:
        if not isinstance(r.event, LookupStarted):
            continue
        own = of_lookup(events, r.event.lookup)
        brand = next((o.event for o in own if isinstance(o.event, BrandResolved)), None)
        end = next((o for o in own if isinstance(o.event, LookupFinished)), None)
        facts = brand.brand if brand else None
        finished: Any = end.event if end else None
        mine = [row for row in asked if row["lookup"] == r.event.lookup]
        rows.append(
            {
                "lookup": r.event.lookup,
                "stream": r.stream,
                "number": r.event.number,
                "asked_brand": r.event.query.brand,
                "asked_domain": r.event.query.domain,
                "started_at": time(r.event.at),
                "deadline_at": time(r.event.deadline_at),
                "ended_at": time(finished.at) if finished else None,
                "seconds": seconds(r.event.at, finished.at) if finished else None,
                "outcome": finished.outcome if finished else None,
                "reusable": finished.reusable if finished else None,
                "cut_off": finished.cut_off if finished else None,
                "found": sum(
                    len(o.event.people)
                    for o in own
                    if isinstance(o.event, PeopleFound | ContactsDiscovered)
                ),
                "shown": len(finished.contacts) if finished else None,
                "verified": finished.verified if finished else None,
                "searches": len(mine),
                "reused": sum(bool(row["cached"]) for row in mine),
                "status": brand.status if brand else None,
                "rules": brand.rules if brand else None,
                "brand": facts.name if facts else None,
                "domain": facts.domain if facts else None,
                "linkedin_company_url": facts.linkedin_company_url if facts else None,
                "parent_company": facts.parent_company if facts else None,
                "instagram": facts.instagram if facts else None,
                "tiktok": facts.tiktok if facts else None,
                "mail_domains": list(facts.mail_domains) if facts else None,
                "position": r.position,
                "ended_position": end.position if end else None,
            }
        )
    return rows


def of_lookup(events: Recorded, lookup: str) -> list[RecordedEvent]:
    return [r for r in events if isinstance(r.event, LookupEvent) and r.event.lookup == lookup]


def stages(events: Recorded) -> list[Row]:
    """Walk on from each issue to what happens to its work next."""
    rows: list[Row] = []
    for r in events:
        if not isinstance(r.event, StageIssued):
            continue
        issue = r.event
        row: Row = {
            "lookup": issue.lookup,
            "stage": issue.stage,
            "mail_domain": issue.item or None,
            "attempt": issue.attempt,
            "issued_at": time(issue.at),
            "deadline_at": time(issue.deadline_at),
            "ended_at": None,
            "seconds": None,
            "ended": None,
            "why": None,
            "retry_at": None,
            "causes": None,
            "after_silence": issue.after_silence,
            "after_restart": issue.after_restart,
            "position": r.position,
            "ended_position": None,
        }
        for later in of_lookup(events, issue.lookup):
            if later.position <= r.position:
                continue
            ended: str | None = None
            match later.event:
                case StageIssued(stage=issue.stage, item=issue.item):
                    ended = "replaced"
                case AttemptFailed(stage=issue.stage, item=issue.item) as e:
                    ended = "failed"
                    row["why"], row["retry_at"] = e.why, time(e.retry_at)
                case BrandResolved() if issue.stage == "brand-resolution":
                    ended = "answered"
                case ContactsDiscovered() if issue.stage == "contact-discovery":
                    ended = "answered"
                case ContactsRanked() if issue.stage == "ranking":
                    ended = "answered"
                case MailDomainChecked(mail_domain=issue.item):
                    ended = "answered"
                case LookupFinished():
                    ended = "cut-off"
                case _:
                    continue
            row["ended"], row["ended_at"] = ended, time(later.event.at)
            row["seconds"] = seconds(issue.at, later.event.at)
            row["ended_position"] = later.position
            break
        rows.append(row)
    return rows


def sources(events: Recorded) -> list[Row]:
    rows: list[Row] = []
    for r in events:
        match r.event:
            case BrandResolved(sources=ended, causes=causes):
                stage: str = "brand-resolution"
                said: dict[str, str | None] = {**ended}
            case ContactsDiscovered(sources=ended, causes=causes):
                stage, said = "contact-discovery", {**ended}
            case AttemptFailed(stage=failed, causes=causes, retry_at=None):
                stage, said = failed, dict.fromkeys(causes)
            case _:
                continue
        rows += (
            {
                "lookup": r.event.lookup,
                "stage": stage,
                "source": source,
                "ended": said[source],
                "why": causes.get(source),
                "ended_at": time(r.event.at),
                "position": r.position,
            }
            for source in sorted(said)
        )
    return rows


def costs(events: Recorded) -> list[Row]:
    rows: list[Row] = []
    for r in events:
        match r.event:
            case BrandResolved(costs=said):
                stage, item = "brand-resolution", ""
            case ContactsDiscovered(costs=said):
                stage, item = "contact-discovery", ""
            case ContactsRanked(costs=said):
                stage, item = "ranking", ""
            case MailDomainChecked(costs=said, mail_domain=item):
                stage = "verification"
            case AttemptFailed(costs=said, stage=failed, item=item):
                stage = failed
            case _:
                continue
        rows += (
            {
                "lookup": r.event.lookup,
                "stage": stage,
                "mail_domain": item or None,
                "place": place,
                "name": cost.name,
                "asked": cost.asked,
                "calls": cost.calls,
                "micros": cost.micros,
                "found": cost.found,
                "used": cost.used,
                "expected_micros": cost.expected_micros,
                "ended_at": time(r.event.at),
                "position": r.position,
            }
            for place, cost in enumerate(said, 1)
        )
    return rows


def mailboxes(events: Recorded, gone: set[str], *, revealed: bool) -> list[Row]:
    rows: list[Row] = []
    for r in events:
        if not isinstance(r.event, MailboxVerified | MailboxNotVerified):
            continue
        checked, person = r.event.checked, f"{r.event.lookup}#{r.event.checked.person}"
        row: Row = {
            "person": person,
            "lookup": r.event.lookup,
            "checked_at": time(r.event.at),
            "verified": isinstance(r.event, MailboxVerified),
            "verdict": None,
            "mail_domain": None,
            "verifier": None,
            "rule": None,
            "rules": None,
            "asked": None,
            "address": None,
            "position": r.position,
        }
        if person not in gone:
            row["verdict"], row["mail_domain"] = checked.verdict.value, checked.mail_domain
            row["verifier"], row["asked"] = checked.verifier, len(checked.evidence)
            row["address"] = checked.address if revealed else None
            row["rules"] = checked.rules
            for found in checked.evidence:  # the last that says the same of the same address
                if found.verdict == checked.verdict and checked.address in {
                    None,
                    found.address,
                }:
                    row["rule"] = found.reason
        rows.append(row)
    return rows


def evidence(events: Recorded, gone: set[str], *, revealed: bool) -> list[Row]:
    return [
        {
            "person": f"{r.event.lookup}#{r.event.checked.person}",
            "lookup": r.event.lookup,
            "n": n,
            "found_at": time(found.at),
            "mail_domain": r.event.checked.mail_domain,
            "verdict": found.verdict.value,
            "rule": found.reason,
            "rules": found.rules,
            "verifier": found.verifier,
            "mx": found.mx,
            "answered": found.answered,
            "retry_in_s": found.retry_in_s,
            "address": found.address if revealed else None,
            "position": r.position,
        }
        for r in events
        if isinstance(r.event, MailboxVerified | MailboxNotVerified)
        and f"{r.event.lookup}#{r.event.checked.person}" not in gone
        for n, found in enumerate(r.event.checked.evidence, 1)
    ]


def people(events: Recorded, gone: set[str], *, revealed: bool) -> list[Row]:
    checks: dict[str, list[Row]] = defaultdict(list)
    for row in mailboxes(events, gone, revealed=True):
        checks[row["person"]].append(row)
    rows: dict[str, Row] = {}
    of_brand = {row["lookup"]: row["mail_domains"] for row in lookups(events)}
    for r in events:
        match r.event:
            case PeopleFound(lookup=lookup, people=found):
                pass
            case ContactsDiscovered(lookup=lookup, people=found):
                pass
            case ContactsRanked(lookup=lookup) as e:
                for place, ranked in enumerate(e.ranked, 1):
                    row = rows[f"{lookup}#{ranked.person}"]
                    row["place"], row["ranking_rules"] = place, e.rules
                    if revealed and not row["erased"]:
                        row["title"], row["family"] = ranked.title, ranked.family
                        row["level"] = ranked.level
                for left in e.left_out:
                    rows[f"{lookup}#{left.person}"]["left_out"] = left.why
                continue
            case LookupFinished(lookup=lookup) as e:
                for place, contact in enumerate(e.contacts, 1):
                    row = rows[f"{lookup}#{contact.person}"]
                    row["shown"], row["verified"] = place, contact.email is not None
                    if row["erased"]:  # they come first, which is all that is left of it
                        row["verified"] = place <= e.verified
                    if revealed and not row["erased"]:
                        row["email"] = contact.email
                continue
            case ContactBounced(lookup=lookup) as e:
                rows[f"{lookup}#{e.bounced.person}"]["email"] = None
                continue
            case _:
                continue
        for person in found:
            name = f"{lookup}#{person.person}"
            shown = None if name in gone or not revealed else person
            rows[name] = {
                "person": name,
                "lookup": lookup,
                "found_at": time(r.event.at),
                "sources": None if name in gone else list(person.sources),
                "place": None,
                "ranking_rules": None,
                "left_out": None,
                "shown": None,
                "verified": False,
                "verdict": None,
                "mail_domain": None,
                "verifier": None,
                "rule": None,
                "verdict_rules": None,
                "erased": name in gone,
                "full_name": shown.full_name if shown else None,
                "title": None,
                "family": None,
                "level": None,
                "headline": shown.headline if shown else None,
                "company": shown.company if shown else None,
                "linkedin_url": shown.linkedin_url if shown else None,
                "location": shown.location if shown else None,
                "email": None,
                "position": r.position,
            }
    for name, row in rows.items():
        if name not in gone and checks[name]:
            # As `cs.domain.lookup.contacts` chooses among several verified addresses.
            domains = of_brand[row["lookup"]]
            good = [check for check in checks[name] if check["verified"]]
            good.sort(key=lambda check: domains.index(check["mail_domain"]))
            best = (good or checks[name][::-1])[0]
            for field in ("verdict", "mail_domain", "verifier", "rule"):
                row[field] = best[field]
            row["verdict_rules"] = best["rules"]
    return list(rows.values())


def mail_domains(events: Recorded) -> list[Row]:
    return [
        {
            "mail_domain": r.stream.removeprefix("mail-domain-"),
            "learned_at": time(r.event.at),
            "catch_all": r.event.facts.catch_all,
            "greylists": r.event.facts.greylists,
            "one_recipient": r.event.facts.one_recipient,
            "pattern": r.event.facts.pattern,
            "expires_at": time(r.event.expires_at),
            "position": r.position,
        }
        for r in events
        if isinstance(r.event, DomainLearned)
    ]


def bounces(events: Recorded) -> list[Row]:
    return [
        {
            "mail_domain": r.stream.removeprefix("mail-domain-"),
            "told_at": time(r.event.at),
            "bounced_at": time(r.event.bounced_at),
            "kind": r.event.kind.value,
            "why": r.event.why,
            "status": r.event.status,
            "pattern": r.event.pattern,
            "position": r.position,
        }
        for r in events
        if isinstance(r.event, BounceReported)
    ]


def bounced_contacts(events: Recorded, gone: set[str], *, revealed: bool) -> list[Row]:
    rows = []
    for r in events:
        if isinstance(r.event, ContactBounced):
            e, person = r.event, f"{r.event.lookup}#{r.event.bounced.person}"
            shown = e.bounced if revealed and person not in gone else None
            rows.append(
                {
                    "person": person,
                    "lookup": e.lookup,
                    "told_at": time(e.at),
                    "bounced_at": time(e.bounced_at),
                    "why": e.why,
                    "status": e.status,
                    "verifier": e.verifier,
                    "rule": e.reason,
                    "rules": e.rules,
                    "verified_at": time(e.verified_at),
                    "address": shown.address if shown else None,
                    "diagnostic": shown.diagnostic if shown else None,
                    "position": r.position,
                }
            )
    return rows


def tables(events: Recorded, *, revealed: bool = False) -> dict[str, list[Row]]:
    """Return the rows of every table that is made of *events*, people in clear."""
    gone = erased(events)
    return {
        "searches": searches(events),
        "lookups": lookups(events),
        "stages": stages(events),
        "sources": sources(events),
        "costs": costs(events),
        "people": people(events, gone, revealed=revealed),
        "mailboxes": mailboxes(events, gone, revealed=revealed),
        "evidence": evidence(events, gone, revealed=revealed),
        "mail_domains": mail_domains(events),
        "bounces": bounces(events),
        "bounced_contacts": bounced_contacts(events, gone, revealed=revealed),
        "charges": charges(events),
        "keys": keys(events),
        "key_events": key_events(events),
        "events": events_table(events),
    }
