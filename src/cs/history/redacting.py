"""Runs and searches without anything that identifies a person.  Pure.

No page, text or JSON made of a redacted value can show what it does not hold.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cs.domain.contact import CheckedPerson, Contact, Opinion, Person
from cs.domain.mail.mailbox import Evidence, Line
from cs.history.runs import MailboxCheck, Run, RunPerson
from cs.history.searches import SearchAt

#: In the place of what is hidden, where something is.
HIDDEN = "(hidden)"
#: A reason by its rule (`cs.domain.mail.mailbox.Evidence`): anything else that a plug-in's
#: verifier says may name a person.
_REASON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
#: What stays of a line of a conversation: the verb that we said, the codes that we heard.
_SPOKEN = {
    "C": re.compile(r"EHLO|HELO|STARTTLS|MAIL FROM:|RCPT TO:|RSET|NOOP|QUIT|DATA"),
    "S": re.compile(r"\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?", re.ASCII),
}


def name_of(run: Run, person: str) -> str:
    """Return the pseudonym of *person* of *run*, by which they go where people are hidden."""
    found = run.find(person)
    return (found and found.who) or f"{run.lookup}#{person}"


def with_pseudonyms(run: Run, who: Mapping[str, str]) -> Run:
    """Return *run* with the pseudonyms *who* of its people, by ``<lookup>#p1``.

    What is left of erased people says nothing, and is left out.
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
        ranked=person.ranked and replace(person.ranked, title=HIDDEN),
        opinion=person.opinion and _opinion(person.opinion),
        checks=tuple(_check(each) for each in person.checks),
        bounced=bounced and replace(bounced, address=HIDDEN, diagnostic=""),
    )


def _opinion(opinion: Opinion) -> Opinion:
    return replace(opinion, title=_hidden(opinion.title), company=_hidden(opinion.company))


def _contact(contact: Contact, name: str) -> Contact:
    if contact.full_name is None:
        return contact
    return replace(
        contact,
        full_name=name,
        first_name=None,
        last_name=None,
        title=_hidden(contact.title),
        headline=_hidden(contact.headline),
        company=_hidden(contact.company),
        location=_hidden(contact.location),
        linkedin_url=_hidden(contact.linkedin_url),
        email=_hidden(contact.email),
        extras=UNSET,
    )


def _hidden(said: str | None) -> str | None:
    return HIDDEN if said else said


def _check(check: MailboxCheck) -> MailboxCheck:
    checked: CheckedPerson = check.checked
    evidence = tuple(_evidence(each) for each in checked.evidence)
    hidden = replace(checked, address=_hidden(checked.address), evidence=evidence)
    return replace(check, checked=hidden)


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
