"""Rows of typed tables (`cs.history.tables`), of runs, searches, keys and single events.

They say who people are, too: `cs.history.export` leaves out the columns that are personal, and
all that is no column.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from cs.domain.brand.events import ContactBounced, ContactsErased
from cs.domain.causation import AnyCause
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated, QuotaGranted
from cs.domain.mail.mailbox import Verdict
from cs.domain.mail.reply_meaning import ReplyKind
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.domain.person import PersonErased
from cs.domain.source_cost import SourceCost
from cs.eventlog.sealing import key_name
from cs.history.loading import LoadedEvent, Search
from cs.history.runs import MailboxCheck, Run, RunAttempt, RunPerson, SourcesEnd

#: The name of a table, and the values of a row by column; a column that is left out is empty.
Row = tuple[str, Mapping[str, Any]]

#: Why an attempt at verification failed that a mail server told to come back later.
TRY_LATER = "try-later"
_WHAT = {
    KeyIssued: "issued",
    QuotaGranted: "granted",
    KeyRotated: "rotated",
    KeyRevoked: "revoked",
}


def search_row(search: Search) -> Row:
    """Return the row of *search*."""
    fields = msgspec.structs.asdict(search)
    if search.settled_at is not None:
        fields["seconds"] = (search.settled_at - search.asked_at).total_seconds()
    return "searches", fields


def event_rows(event: LoadedEvent) -> Iterator[Row]:
    """Yield the rows of one event by itself."""
    stored, recorded = event
    yield (
        "events",
        {
            "position": stored.position,
            "stream": stored.stream,
            "version": stored.version,
            "type": stored.topic,
            "happened_at": stored.at,
            "lookup": stored.lookup,
            **_cause(recorded.caused_by),
        },
    )
    said, domain = recorded.event, recorded.stream.removeprefix("mail-domain-")
    at = {"position": stored.position}
    match said:
        case KeyIssued() | QuotaGranted() | KeyRotated() | KeyRevoked():
            units = said.quota if isinstance(said, KeyIssued) else getattr(said, "units", None)
            yield (
                "key_events",
                {
                    **at,
                    "key": recorded.stream.removeprefix("key-"),
                    "happened_at": said.at,
                    "what": _WHAT[type(said)],
                    "units": units,
                    "operator": said.by,
                },
            )
        case DomainLearned(facts=facts):
            learned = {"learned_at": said.at, "expires_at": said.expires_at}
            known = msgspec.structs.asdict(facts)
            yield "mail_domains", {**at, **known, **learned, "mail_domain": domain}
        case BounceReported():
            told = msgspec.structs.asdict(said)
            yield "bounces", {**told, **at, "mail_domain": domain, "told_at": said.at}
        case ContactBounced(bounced=bounced):
            row = {**msgspec.structs.asdict(said), **at, "told_at": said.at}
            row |= {"person": key_name(said.lookup, bounced.person), "rule": said.reason}
            row |= {"address": bounced.address, "diagnostic": bounced.diagnostic}
            yield "bounced_contacts", row
        case ContactsErased(people=people):
            yield from (("gone", {"person": key_name(said.lookup, each)}) for each in people)
        case PersonErased(found_in=names):
            yield from (("gone", {"person": name}) for name in names)
        case _:
            pass


def run_rows(run: Run, lost: Collection[str] = ()) -> Iterator[Row]:
    """Yield the rows of *run*, ended or as far as it has come.

    Args:
        run: What is written.
        lost: People whose data key is lost: they are not erased.
    """
    yield "lookups", _lookup(run)
    for attempt in run.attempts:
        yield from _attempt_rows(run, attempt)
    for stage, credit in (
        ("contact-discovery", run.verified_from),
        ("verification", run.verified_by),
    ):
        for name, verified in credit.items():
            row = {"lookup": run.lookup, "stage": stage, "name": name, "verified": verified}
            yield (
                "credits",
                {**row, "ended_at": run.finished_at, "position": run.finish_position},
            )
    for person in run.people:
        yield from _person_rows(run, person, lost)
    yield from _mail_checks(run)


def _lookup(run: Run) -> Mapping[str, Any]:
    finish = None if run.finished_at is None else run.finished_at - run.started_at
    brand = {} if run.brand is None else msgspec.structs.asdict(run.brand)
    return {
        **brand,
        "lookup": run.lookup,
        "stream": run.stream,
        "number": run.number,
        "asked_brand": run.query.brand,
        "asked_domain": run.query.domain,
        "started_at": run.started_at,
        "deadline_at": run.deadline_at,
        "ended_at": run.finished_at,
        "seconds": None if finish is None else finish.total_seconds(),
        "outcome": run.outcome,
        "reusable": None if finish is None else run.reusable,
        "cut_off": None if finish is None else run.cut_off,
        "found": len(run.people),
        "ranked": sum(person.place is not None for person in run.people),
        "shown": None if finish is None else len(run.ended_with),
        "verified": None if finish is None else run.verified_then,
        "status": run.status,
        "rules": run.resolved_by,
        "brand": brand.get("name"),
        "position": run.position,
        "ended_position": run.finish_position,
    }


def _attempt_rows(run: Run, attempt: RunAttempt) -> Iterator[Row]:
    fields = msgspec.structs.asdict(attempt)
    place = {"lookup": run.lookup, "stage": attempt.stage, "attempt": attempt.attempt}
    ended = attempt.ended_at
    yield (
        "stages",
        {
            **fields,
            **place,
            "mail_domain": attempt.item or None,
            "seconds": None if ended is None else (ended - attempt.issued_at).total_seconds(),
            "ended": None if attempt.end == "open" else attempt.end,
            "causes": dict(sorted(attempt.causes.items())) or None,
            "ended_position": attempt.ended_by,
        },
    )
    place |= {"ended_at": ended, "position": attempt.ended_by}
    for source, how, why in _sources(run, attempt):
        yield "sources", {**place, "source": source, "ended": how, "why": why}
    for n, cost in enumerate(attempt.costs, 1):
        row = {field: getattr(cost, field) for field in SourceCost.__struct_fields__}
        yield "costs", {**place, **row, "mail_domain": attempt.item or None, "place": n}


def _sources(run: Run, attempt: RunAttempt) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield each source of *attempt* with how it ended, and why it could not answer."""
    if attempt.end == "failed":
        for source, why in attempt.causes.items():
            yield source, "failed", why
        for cost in attempt.costs:
            if cost.asked and cost.name not in attempt.causes and not attempt.item:
                yield cost.name, None, None
    elif attempt.end == "answered":
        ends: Mapping[str, SourcesEnd | None] = {
            "brand-resolution": run.resolution,
            "contact-discovery": run.discovery,
        }
        end = ends.get(attempt.stage)
        if end is not None:
            for source, how in end.sources.items():
                yield source, how, end.causes.get(source)
        elif attempt.stage == "ranking":
            for model, why in run.ranking_causes.items():
                yield model, "failed", why


def _person_rows(run: Run, person: RunPerson, lost: Collection[str]) -> Iterator[Row]:
    name = key_name(run.lookup, person.person)
    found, ranked = person.found, person.ranked
    is_readable = bool(found.full_name)
    if person.erased or not (is_readable or name in lost):
        yield "gone", {"person": name}
    place = run.ended_with.index(person.person) + 1 if person.person in run.ended_with else None
    # Contacts with a verified e-mail come first (contract S5).
    verified = place is not None and place <= run.verified_then
    best = _best(run, person.checks)
    row: dict[str, Any] = {
        "person": name,
        "lookup": run.lookup,
        "found_at": person.at,
        "position": person.position,
        "sources": found.sources if is_readable else None,
        "place": person.place,
        "ranking_rules": run.ranked_by if person.place is not None else None,
        "left_out": person.left_out,
        "shown": place,
        "verified": verified,
    }
    if best is not None:
        row |= {field: value for field, value in _check(best).items() if field in _OF_BEST}
        row["verdict_rules"] = best.checked.rules
    if ranked is not None and ranked.title:
        row |= {"family": ranked.family, "level": ranked.level}
    if is_readable:
        personal = ("full_name", "headline", "company", "linkedin_url", "location")
        row |= {field: getattr(found, field) for field in personal}
        row["title"] = ranked.title if ranked is not None else None
        row["email"] = best.checked.address if best is not None and verified else None
    yield "people", row
    for check in person.checks:
        yield "mailboxes", {"person": name, "lookup": run.lookup, **_check(check)}
        yield from _evidence_rows(run, name, check)


_OF_BEST = ("verdict", "mail_domain", "verifier", "rule")


def _best(run: Run, checks: Iterable[MailboxCheck]) -> MailboxCheck | None:
    """Return the one of *checks* that verified an e-mail, or else the last one."""
    domains = run.brand.mail_domains if run.brand is not None else ()
    verified = [check for check in checks if check.verified]

    def rank(check: MailboxCheck) -> tuple[int, int]:
        known = check.mail_domain in domains
        return domains.index(check.mail_domain) if known else len(domains), -check.position

    return min(verified, key=rank) if verified else next(reversed([*checks]), None)


def _check(check: MailboxCheck) -> dict[str, Any]:
    checked = check.checked
    is_readable = bool(checked.mail_domain)
    verdict = Verdict.DELIVERABLE if check.verified else checked.verdict
    return {
        "position": check.position,
        "checked_at": check.at,
        "verified": check.verified,
        "verdict": verdict.value if is_readable or check.verified else None,
        "mail_domain": check.mail_domain,
        "verifier": checked.verifier,
        "rule": _rule(check),
        "rules": checked.rules,
        "asked": len(checked.evidence) if is_readable else None,
        "address": checked.address,
    }


def _rule(check: MailboxCheck) -> str | None:
    """Return the reason of the evidence that the verdict of *check* rests on.

    That of the address which was verified; of the last that was asked with that verdict, where
    none was.
    """
    checked = check.checked
    rested = [
        found.reason
        for found in checked.evidence
        if found.verdict is checked.verdict
        and (checked.address is None or found.address == checked.address)
    ]
    return rested[-1] if rested else None


def _evidence_rows(run: Run, person: str, check: MailboxCheck) -> Iterator[Row]:
    addresses = list(dict.fromkeys(each.address for each in check.checked.evidence))
    for n, found in enumerate(check.checked.evidence, 1):
        row = {
            "position": check.position,
            "person": person,
            "lookup": run.lookup,
            "n": n,
            "address_n": addresses.index(found.address) + 1,
            "found_at": found.at,
            "checked_at": check.at,
            "mail_domain": check.mail_domain,
            "verdict": found.verdict.value,
            "rule": found.reason,
            "rules": found.rules,
            "verifier": found.verifier,
            "mx": found.mx,
            "answered": found.answered,
            "retry_in_s": found.retry_in_s,
            "address": found.address,
            "conversation": found.conversation,
        }
        yield "evidence", row


def _mail_checks(run: Run) -> Iterator[Row]:
    for closed in run.mail_domains:
        domain, learned = closed.mail_domain, closed.learned
        checks = [
            check
            for person in run.people
            for check in person.checks
            if check.mail_domain == domain
        ]
        greylisted = any(
            each.reason == ReplyKind.GREYLISTED
            for check in checks
            for each in check.checked.evidence
        )
        later = any(
            attempt.item == domain and attempt.why == TRY_LATER for attempt in run.attempts
        )
        all_names = any(check.checked.verdict is Verdict.CATCH_ALL for check in checks)
        yield (
            "mail_checks",
            {
                "lookup": run.lookup,
                "mail_domain": domain,
                "checked_at": closed.at,
                "people": len(checks),
                "verified": sum(check.verified for check in checks),
                "catch_all": all_names or bool(learned.catch_all),
                "put_off": greylisted or later or bool(learned.greylists),
                "position": closed.position,
            },
        )


def _cause(cause: AnyCause | None) -> Mapping[str, Any]:
    """Return the columns of `events` that name *cause*."""
    if cause is None:
        return {}
    said = msgspec.to_builtins(cause)
    names = {
        "request": ("id", "request"),
        "message": ("id", "message"),
        "operator": ("who", "operator"),
        "event": ("position", "caused_by"),
    }
    field, column = names.get(said["kind"], ("", ""))
    columns = {column: said.get(field)} if column else {}
    return {**columns, "cause": said["kind"]} | {
        each: said[each] for each in ("attempt", "timer", "command") if each in said
    }
