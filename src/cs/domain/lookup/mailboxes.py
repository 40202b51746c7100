"""Mailboxes of one live run: each person is settled once at each mail domain.  Pure."""

from collections.abc import Collection, Iterable
from datetime import datetime

from cs.domain.brand.events import (
    BrandEvent,
    MailboxNotVerified,
    MailboxVerified,
    MailDomainChecked,
)
from cs.domain.contact import Checked
from cs.domain.lookup.contacts import proved
from cs.domain.lookup.finish import after_verification, finish
from cs.domain.lookup.state import Lookup, evolve
from cs.domain.mail.mailbox import DomainFacts, Verdict


def close_domain(
    state: Lookup,
    mail_domain: str,
    checked: Iterable[Checked],
    learned: DomainFacts,
    at: datetime,
    *,
    verifiers: Collection[str],
) -> tuple[BrandEvent, ...]:
    """Settle everybody at *mail_domain*; who was forgotten by the stage is unknown."""
    events: list[BrandEvent] = []
    after = state
    said = {c.person: c for c in checked if c.mail_domain == mail_domain}
    for ranked in state.ranked or ():
        unknown = Checked(
            person=ranked.person, mail_domain=mail_domain, verdict=Verdict.UNKNOWN
        )
        for event in settled(after, said.get(ranked.person, unknown), verifiers, at):
            events.append(event)
            after = evolve(after, event)
    closed = MailDomainChecked(lookup=state.id, mail_domain=mail_domain, learned=learned, at=at)
    after = evolve(after, closed)
    events.append(closed)
    if not after.open:
        events.append(finish(after, after_verification(after), at))
    return tuple(events)


def settled(
    state: Lookup, checked: Checked, verifiers: Collection[str], at: datetime
) -> Iterable[BrandEvent]:
    """Yield the event of *checked* unless this person is settled at that mail domain."""
    if any(
        (c.person, c.mail_domain) == (checked.person, checked.mail_domain)
        for c in state.checked
    ):
        return
    if all(r.person != checked.person for r in state.ranked or ()):
        return  # nobody we asked for
    kind = MailboxVerified if proved(checked, verifiers) else MailboxNotVerified
    yield kind(lookup=state.id, checked=checked, at=at)
