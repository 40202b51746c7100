"""Rows of the typed tables in `tables.sql`, made of runs, searches and single events.

They contain personal values: `cs.history.export` leaves out personal columns and everything
that is no column.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from cs.domain.brand.events import ContactBounced
from cs.domain.contact import BouncedMailbox, CheckedPerson
from cs.domain.key import KeyIssued, KeyLimited, KeyRevoked, KeyRotated, QuotaGranted
from cs.domain.mail.mailbox import Verdict
from cs.domain.mail.reply_meaning import ReplyKind
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.domain.operator_actions import act_of
from cs.eventlog.sealing import key_name
from cs.history.loading import LoadedEvent, Search
from cs.history.runs import ClosedMailDomain, MailboxCheck, Run, RunAttempt, RunPerson

#: The name of a table, and the values of a row by column; a column that is left out is empty.
Row = tuple[str, Mapping[str, Any]]

#: The cause of a failed verification that a mail server asked to be repeated later.
TRY_LATER = "try-later"
#: The verifier that asks mail servers; the others ask services.
SMTP = "smtp"
#: Columns of a person that are those of the check which verified them, or of the last one.
_OF_CHECK = ("verdict", "mail_domain", "verifier", "rule")
_OF_RUN = (
    "lookup",
    "stream",
    "number",
    "started_at",
    "deadline_at",
    "outcome",
    "status",
    "position",
)


def search_row(search: Search) -> Row:
    """Return the row of *search*."""
    ended = search.settled_at
    seconds = None if ended is None else (ended - search.asked_at).total_seconds()
    return "searches", {**asdict(search), "seconds": seconds}


def event_rows(event: LoadedEvent, erased: Collection[str] = ()) -> Iterator[Row]:
    """Yield the rows of one event by itself, those *erased*, ``<lookup>#p1``, left blank."""
    stored, recorded = event
    said = recorded.event
    at: dict[str, Any] = {"position": stored.position}
    cause = to_builtins(recorded.caused_by) if recorded.caused_by is not None else None
    row = stored._asdict() | {
        "type": stored.topic,
        "happened_at": stored.at,
        "caused_by": cause,
    }
    yield "events", row
    match said:
        case KeyIssued() | QuotaGranted() | KeyLimited() | KeyRotated() | KeyRevoked():
            act = act_of(stored.stream, said)
            assert act is not None, "an operator does it"
            about = {"key": stored.stream.removeprefix("key-"), "happened_at": said.at}
            what = act.what.rpartition("_")[2]
            units = said.quota if isinstance(said, KeyIssued) else act.units
            yield "key_events", at | about | {"what": what, "units": units, "operator": act.by}
        case DomainLearned():
            domain = {"mail_domain": stored.stream.removeprefix("mail-domain-")}
            learned = {"learned_at": said.at, "expires_at": said.expires_at}
            yield "mail_domains", at | asdict(said.facts) | learned | domain
        case BounceReported():
            domain = {"mail_domain": stored.stream.removeprefix("mail-domain-")}
            yield "bounces", asdict(said) | at | {"told_at": said.at} | domain
        case ContactBounced(bounced=bounced):
            person = key_name(said.lookup, bounced.person)
            if person in erased:
                bounced = BouncedMailbox(person=bounced.person, address="")
            at |= {"told_at": said.at, "person": person, "rule": said.reason}
            at["address"] = bounced.address or None  # empty: erased
            yield "bounced_contacts", asdict(said) | asdict(bounced) | at
        case _:
            pass


def run_rows(
    run: Run, lost: Collection[str] = (), who: Mapping[str, str] | None = None
) -> Iterator[Row]:
    """Yield the rows of *run*, ended or as far as it has come.

    Args:
        run: The run.
        lost: People whose data key is lost: they are not erased.
        who: By ``<lookup>#p1``, the pseudonyms of its people.
    """
    yield "lookups", _lookup(run)
    for attempt in run.attempts:
        yield from _attempt_rows(run, attempt)
    ended = {"ended_at": run.finished_at, "position": run.finish_position}
    due = {"contact-discovery": run.verified_from, "verification": run.verified_by}
    for stage, by_name in due.items():
        for name, emails in by_name.items():
            row = {"lookup": run.lookup, "stage": stage, "name": name, "emails": emails}
            yield "credits", row | ended
    for person in run.people:
        yield from _person_rows(run, person, lost, who or {})
    for closed in run.mail_domains:
        yield "mail_checks", _mail_check(run, closed)


def _lookup(run: Run) -> Mapping[str, Any]:
    brand = {} if run.brand is None else asdict(run.brand)
    row = {
        **{field: getattr(run, field) for field in _OF_RUN},
        **brand,
        "brand": brand.get("name"),
        "asked_brand": run.query.brand,
        "asked_domain": run.query.domain,
        "found": len(run.people),
        "ranked": sum(person.place is not None for person in run.people),
        "rules": run.resolved_by,
    }
    if run.finished_at is not None:
        row |= {
            "ended_at": run.finished_at,
            "ended_position": run.finish_position,
            "seconds": (run.finished_at - run.started_at).total_seconds(),
            "reusable": run.reusable,
            "cut_off": run.cut_off,
            "contacts": len(run.ended_with),
            "emails": run.verified_then,
        }
    return row


def _attempt_rows(run: Run, attempt: RunAttempt) -> Iterator[Row]:
    ended, failed = attempt.ended_at, attempt.causes if attempt.end == "failed" else {}
    place = {"lookup": run.lookup, "stage": attempt.stage, "attempt": attempt.attempt}
    place["mail_domain"] = attempt.item or None
    yield (
        "stages",
        asdict(attempt)
        | place
        | {
            "seconds": None if ended is None else (ended - attempt.issued_at).total_seconds(),
            "ended": None if attempt.end == "open" else attempt.end,
            "causes": dict(sorted(failed.items())) or None,
            "ended_position": attempt.ended_by,
        },
    )
    place |= {"ended_at": ended, "position": attempt.ended_by}
    for source, answer, why in attempt.answers():
        yield "sources", place | {"source": source, "answer": answer, "why": why}
    for n, cost in enumerate(attempt.costs, 1):
        yield "costs", asdict(cost) | place | {"place": n}


def _person_rows(
    run: Run, person: RunPerson, lost: Collection[str], who: Mapping[str, str]
) -> Iterator[Row]:
    name = key_name(run.lookup, person.person)
    found, ranked = person.found, person.ranked
    is_readable = bool(found.full_name) and not person.erased
    checks = person.checks
    if person.erased:  # an older key store that was put back still opens them
        ranked = None
        blank = CheckedPerson(person=person.person, mail_domain="", verdict=Verdict.UNKNOWN)
        checks = [replace(check, checked=blank) for check in checks]
    place = run.ended_with.index(person.person) + 1 if person.person in run.ended_with else None
    # Contacts with a verified e-mail come first (contract S5).
    verified = place is not None and place <= run.verified_then
    row: dict[str, Any] = {
        "person": name,
        "who": who.get(name),
        "lookup": run.lookup,
        "found_at": person.at,
        "position": person.position,
        "place": person.place,
        "ranking_rules": run.ranked_by if person.place is not None else None,
        "left_out": person.left_out,
        "shown_place": place,
        "verified": verified,
        "erased": person.erased or not (is_readable or name in lost),
    }
    best = _best(run, checks)
    if best is not None:
        row |= {field: _check(best)[field] for field in _OF_CHECK}
        row |= {"verdict_rules": best.checked.rules}
    if ranked is not None and ranked.title:
        row |= {"family": ranked.family, "level": ranked.level, "title": ranked.title}
    if is_readable:
        row = asdict(found) | row
        row["email"] = best.checked.address if best is not None and verified else None
    yield "people", row
    for check in checks:
        about = {"person": name, "lookup": run.lookup} | _check(check)
        yield "mailboxes", about
        addresses = list(dict.fromkeys(each.address for each in check.checked.evidence))
        for n, each in enumerate(check.checked.evidence, 1):
            address_n = addresses.index(each.address) + 1
            place_of = {
                "n": n,
                "address_n": address_n,
                "found_at": each.at,
                "rule": each.reason,
            }
            yield "evidence", about | asdict(each) | place_of


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
    verdict = Verdict.DELIVERABLE if check.verified else checked.verdict
    # The reason of the evidence that the verdict rests on: of the verified address, or of the
    # last one that was asked with that verdict.
    reasons = [
        found.reason
        for found in checked.evidence
        if found.verdict is checked.verdict
        and (checked.address is None or found.address == checked.address)
    ]
    is_readable = bool(checked.mail_domain)
    return {
        "position": check.position,
        "checked_at": check.at,
        "verified": check.verified,
        "verdict": verdict.value if is_readable or check.verified else None,
        "mail_domain": check.mail_domain,
        "verifier": checked.verifier,
        "rule": reasons[-1] if reasons else None,
        "rules": checked.rules,
        "asked": len(checked.evidence) if is_readable else None,
        "address": checked.address,
    }


def _mail_check(run: Run, closed: ClosedMailDomain) -> Mapping[str, Any]:
    domain, learned = closed.mail_domain, closed.learned
    every = (check for person in run.people for check in person.checks)
    checks = [check for check in every if check.mail_domain == domain]
    evidence = [found for check in checks for found in check.checked.evidence]
    reasons = {found.reason for found in evidence}
    # A hosted verifier that allows no more calls (429) has the stage ask again as well.
    later = {found.verifier for found in evidence} == {SMTP} and any(
        each.item == domain and each.why == TRY_LATER for each in run.attempts
    )
    accepts_all = any(check.checked.verdict is Verdict.CATCH_ALL for check in checks)
    return {
        "lookup": run.lookup,
        "mail_domain": domain,
        "checked_at": closed.at,
        "people": len(checks),
        "emails": sum(check.verified for check in checks),
        "catch_all": accepts_all or bool(learned.catch_all),
        "put_off": ReplyKind.GREYLISTED in reasons or later or bool(learned.greylists),
        "position": closed.position,
    }
