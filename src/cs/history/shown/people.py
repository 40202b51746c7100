"""Everybody whom a run considered: whether they are in the answer, why, and what proves it."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from cs.domain.contact import Contact, Opinion
from cs.domain.mail.mailbox import Evidence, Line
from cs.history.reply_read import ReplyRead, reply_read
from cs.history.runs import MailboxBounce, MailboxCheck, Run, RunPerson

#: What a reason is by its rule (`cs.domain.mail.mailbox.Evidence`): anything else that a
#: verifier of another make says may name somebody, and is sealed.
_REASON = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
SEALED = "sealed"


class TriedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One address that was tried.

    Attributes:
        address: ``None``: sealed.
        reason: The rule that read it (`cs.history.words.REASONS`).
        rules: The set of rules that did; ``None``: not recorded.
        reply: The reply about it, as today's rules read it, if there was one.  Sealed, it has
            no words.
        took_ms: From the first line of its conversation to the last; ``None``: it has none.
        conversation: ``None``: sealed.
    """

    address: str | None
    verdict: str
    reason: str
    rules: str | None
    verifier: str
    at: datetime
    mx: str | None
    reply: ReplyRead | None
    retry_in_s: float | None
    took_ms: int | None
    conversation: Sequence[Line] | None


class ShownBounce(msgspec.Struct, frozen=True, kw_only=True):
    """Mail to the verified mailbox came back for good.

    Attributes:
        position, at: Of the event that says so.
        bounced_at: When it came back.
        why: What it was (`cs.domain.mail.bounce`); ``status``: its enhanced code.
        verifier, reason: Who had vouched for the mailbox, and by which rule.
        diagnostic: What the mail server said; ``None``: sealed.
    """

    position: int
    at: datetime
    bounced_at: datetime
    status: str | None
    why: str
    verifier: str
    reason: str | None
    diagnostic: str | None


class ShownCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for somebody at one mail domain.

    Attributes:
        position: Of the event that says so.
        verified: Whether the mailbox was proved.
        rules: That chose among what was tried; ``None``: not recorded.
    """

    mail_domain: str
    position: int
    at: datetime
    verified: bool
    verdict: str
    verifier: str | None
    rules: str | None
    tried: Sequence[TriedAddress]


class InClear(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of somebody, as it was found."""

    full_name: str
    headline: str | None
    title: str | None
    company: str | None
    location: str | None
    linkedin_url: str | None
    email: str | None
    named_addresses: Sequence[str]


class ShownOpinion(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator's own language model said of a headline (`cs.domain.contact.Opinion`).

    Attributes:
        title, company: ``None``: it said none, or they are sealed.
    """

    doubts: Sequence[str]
    family: str
    level: str
    title: str | None
    company: str | None
    model: str
    prompt: str


class ShownPerson(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whom the run considered.

    Attributes:
        person: ``p1``, ``p2``, … in this run.
        pseudonym: The same in all runs that found them, where that is known.
        position, found_at: Of the event that names them first.
        sources: That found them.
        why: Why they are in the answer or not (`cs.history.words.KEPT`).
        is_shown: Whether they are in it.
        place: In the ranking, from 1.
        family, level: Of the role that was read.
        opinion: On their headline; ``None``: the rules were sure of it, or nobody was asked.
        in_clear: ``None``: sealed.
        bounced: ``None``: no mail to them came back, as far as is known.
    """

    person: str
    pseudonym: str
    position: int
    found_at: datetime
    sources: Sequence[str]
    is_shown: bool
    why: str
    place: int | None
    family: str | None
    level: str | None
    opinion: ShownOpinion | None
    checks: Sequence[ShownCheck]
    in_clear: InClear | None
    bounced: ShownBounce | None


def shown_people(
    run: Run, pseudonym: Callable[[str], str], *, reveal: bool
) -> Sequence[ShownPerson]:
    """Return everybody in *run* who is not erased: who is shown first, in their order.

    Args:
        run: As of then.
        pseudonym: Of who is called ``p1`` in it.
        reveal: Whether to show them in clear.
    """
    contacts = {contact.person: contact for contact in run.contacts if contact.full_name}
    order = {person: n for n, person in enumerate(contacts)}
    people = [
        _person(run, person, contacts.get(person.person), pseudonym, reveal=reveal)
        for person in run.people
        if not is_erased(person)
    ]
    last = len(run.people)
    return sorted(people, key=lambda p: (order.get(p.person, last), p.place or last))


def is_erased(person: RunPerson) -> bool:
    """Return whether *person* was erased by now; whatever is left says nothing."""
    return person.erased or not person.found.full_name


def _person(
    run: Run,
    person: RunPerson,
    contact: Contact | None,
    pseudonym: Callable[[str], str],
    *,
    reveal: bool,
) -> ShownPerson:
    ranked = person.ranked
    return ShownPerson(
        person=person.person,
        pseudonym=pseudonym(person.person),
        position=person.position,
        found_at=person.at,
        sources=person.found.sources,
        is_shown=contact is not None,
        why=_why(run, person, contact),
        place=person.place,
        family=ranked.family if ranked else None,
        level=ranked.level if ranked else None,
        opinion=_opinion(person.opinion, reveal=reveal),
        checks=[_check(check, reveal=reveal) for check in person.checks],
        in_clear=_in_clear(person, contact) if reveal else None,
        bounced=None if person.bounced is None else _bounce(person.bounced, reveal=reveal),
    )


def _opinion(opinion: Opinion | None, *, reveal: bool) -> ShownOpinion | None:
    if opinion is None:
        return None
    return ShownOpinion(
        doubts=opinion.doubts,
        family=opinion.family,
        level=opinion.level,
        title=opinion.title if reveal else None,
        company=opinion.company if reveal else None,
        model=opinion.model,
        prompt=opinion.prompt,
    )


def _why(run: Run, person: RunPerson, contact: Contact | None) -> str:
    if contact is not None:
        if contact.email is not None:
            return "verified"
        if person.bounced is not None:
            return "bounced"
        proved = any(check.verified for check in person.checks)
        return "anothers-mailbox" if proved else "not-verified"
    if person.left_out is not None:
        return person.left_out
    if run.finished_at is not None:
        return "not-shown"
    return "not-ranked" if person.ranked is None else "not-ended"


def _in_clear(person: RunPerson, contact: Contact | None) -> InClear:
    found = person.found
    return InClear(
        full_name=found.full_name,
        headline=found.headline,
        title=person.ranked.title if person.ranked else contact.title if contact else None,
        company=found.company,
        location=found.location,
        linkedin_url=found.linkedin_url,
        email=contact.email if contact else None,
        named_addresses=found.addresses,
    )


def _bounce(bounce: MailboxBounce, *, reveal: bool) -> ShownBounce:
    return ShownBounce(
        position=bounce.position,
        at=bounce.at,
        bounced_at=bounce.bounced_at,
        status=bounce.status,
        why=bounce.why,
        verifier=bounce.verifier,
        reason=bounce.reason,
        diagnostic=bounce.diagnostic if reveal else None,
    )


def _check(check: MailboxCheck, *, reveal: bool) -> ShownCheck:
    checked = check.checked
    return ShownCheck(
        mail_domain=checked.mail_domain,
        position=check.position,
        at=check.at,
        verified=check.verified,
        verdict=checked.verdict.value,
        verifier=checked.verifier,
        rules=checked.rules,
        tried=[_tried(evidence, reveal=reveal) for evidence in checked.evidence],
    )


def _tried(evidence: Evidence, *, reveal: bool) -> TriedAddress:
    reply = reply_read(evidence)
    if reply is not None and not reveal:
        reply = msgspec.structs.replace(reply, text="")
    lines = evidence.conversation
    return TriedAddress(
        address=evidence.address if reveal else None,
        verdict=evidence.verdict.value,
        reason=evidence.reason if reveal or _REASON.fullmatch(evidence.reason) else SEALED,
        rules=evidence.rules,
        verifier=evidence.verifier,
        at=evidence.at,
        mx=evidence.mx,
        reply=reply,
        retry_in_s=evidence.retry_in_s,
        took_ms=lines[-1].at_ms - lines[0].at_ms if lines else None,
        conversation=lines if reveal else None,
    )
