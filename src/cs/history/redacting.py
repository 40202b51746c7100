"""Runs and searches without anything that identifies a person.  Pure.

A page, text or JSON of a redacted value can show no hidden field.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cs.domain.contact import Contact, Person
from cs.domain.mail.mailbox import Evidence, Line
from cs.history.runs import MailboxCheck, Run, RunPerson
from cs.history.searches import SearchAt

S = TypeVar("S", bound=msgspec.Struct)

#: Stands for a hidden value.
HIDDEN = "(hidden)"
#: The form of a reason (`cs.domain.mail.mailbox.Evidence`).  Any other text of a verifier of a
#: plug-in may name a person.
_REASON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
#: The parts of a line of a conversation that are shown: our verb, and the codes of replies.
_SPOKEN = {
    "C": re.compile(r"EHLO|HELO|STARTTLS|MAIL FROM:|RCPT TO:|RSET|NOOP|QUIT|DATA"),
    "S": re.compile(r"\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?", re.ASCII),
}


def name_of(run: Run, person: str) -> str:
    """Return the pseudonym of *person* of *run*."""
    found = run.find(person)
    return (found and found.who) or f"{run.lookup}#{person}"


def with_pseudonyms(run: Run, who: Mapping[str, str]) -> Run:
    """Return *run* with the pseudonyms *who* of its people, by ``<lookup>#p1``.

    Ranking and checks of erased people are left out.
    """
    return replace(
        run,
        people=tuple(
            replace(each, ranked=None, opinion=None, checks=(), bounced=None)
            if each.is_erased
            else replace(each, who=who.get(f"{run.lookup}#{each.person}"))
            for each in run.people
        ),
    )


def redact(run: Run) -> Run:
    """Return *run* with people under their pseudonyms.

    Role, level, verdicts, verifiers, rules, mail domains and times identify no person and stay;
    of conversations with mail servers the verbs and codes.
    """
    return replace(
        run,
        people=tuple(_person(each, name_of(run, each.person)) for each in run.people),
        contacts=tuple(_contact(each, name_of(run, each.person)) for each in run.contacts),
    )


def redact_search(search: SearchAt) -> SearchAt:
    """Return *search* with its run redacted, and the contacts of its record."""
    run = search.run
    record: dict[str, Any] = msgspec.json.decode(search.record)
    if run is not None and "contacts" in record:
        shown = [contact.person for contact in run.contacts if contact.full_name is not None]
        record["contacts"] = [
            _recorded(run, person, contact)
            for person, contact in zip(shown, record["contacts"], strict=True)
        ]
    return replace(
        search,
        is_redacted=True,
        record=msgspec.Raw(msgspec.json.encode(record)),
        run=None if run is None else redact(run),
    )


def _recorded(run: Run, person: str, contact: Mapping[str, str | None]) -> Mapping[str, Any]:
    found = run.find(person)
    ranked = found.ranked if found else None
    return {
        "person": name_of(run, person),
        "family": ranked.family if ranked else None,
        "level": ranked.level if ranked else None,
        "email_status": contact["email_status"],
        "email_source": contact["email_source"],
    }


def _person(person: RunPerson, name: str) -> RunPerson:
    if person.is_erased:
        return person
    bounced = person.bounced
    return replace(
        person,
        found=Person(person=person.person, full_name=name, sources=person.found.sources),
        ranked=person.ranked and _hide(person.ranked, "title"),
        opinion=person.opinion and _hide(person.opinion, "title", "company"),
        checks=tuple(_check(each) for each in person.checks),
        bounced=bounced and replace(_hide(bounced, "address"), diagnostic=""),
    )


def _contact(contact: Contact, name: str) -> Contact:
    if contact.full_name is None:
        return contact
    fields = ("title", "headline", "company", "location", "linkedin_url", "email")
    hidden = _hide(contact, *fields)
    return replace(hidden, full_name=name, first_name=None, last_name=None, extras=UNSET)


def _hide(value: S, *fields: str) -> S:
    """Return *value* with `HIDDEN` in place of its *fields* that have a value."""
    return replace(value, **{name: HIDDEN for name in fields if getattr(value, name)})


def _check(check: MailboxCheck) -> MailboxCheck:
    evidence = tuple(_evidence(each) for each in check.checked.evidence)
    checked = replace(_hide(check.checked, "address"), evidence=evidence)
    return replace(check, checked=checked)


def _evidence(evidence: Evidence) -> Evidence:
    said = tuple(_line(line, evidence.address) for line in evidence.conversation)
    return replace(
        evidence,
        address=HIDDEN,
        reason=evidence.reason if _REASON.fullmatch(evidence.reason) else HIDDEN,
        conversation=said,
    )


def _line(line: Line, address: str) -> Line:
    if _asks(line, address):
        return replace(line, text=f"RCPT TO:<{HIDDEN}>")
    spoken = _SPOKEN[line.who].match(line.text)
    return replace(line, text=f"{spoken[0]} {HIDDEN}" if spoken else HIDDEN)


def reply_to(evidence: Evidence) -> str:
    """Return the last reply about the address of *evidence*; of a redacted one its codes.

    Empty: the conversation ended before, or was too long to be stored whole.
    """
    said = [
        reply.text.removesuffix(f" {HIDDEN}")
        for line, reply in pairwise(evidence.conversation)
        if _asks(line, evidence.address) and reply.who == "S"
    ]
    return said[-1] if said else ""


def _asks(line: Line, address: str) -> bool:
    """Return whether *line* asks about *address*, and not about one that is to be refused."""
    return line.who == "C" and line.text.casefold() == f"RCPT TO:<{address}>".casefold()
