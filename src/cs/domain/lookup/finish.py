"""How one live run ends, and what it shows.  Pure."""

from datetime import datetime

from cs.domain.brand.events import BrandEvent, LookupFinished
from cs.domain.key import Outcome
from cs.domain.lookup.contacts import contacts_of
from cs.domain.lookup.state import Lookup
from cs.domain.mail.mailbox import DEFINITE


def pass_deadline(state: Lookup, at: datetime) -> tuple[BrandEvent, ...]:
    """Return the end of a run whose time is up at *at*."""
    if at < state.deadline_at:
        return ()
    return (finish(state, "timeout", at),)


def finish(state: Lookup, otherwise: Outcome, at: datetime) -> LookupFinished:
    """End the run: ``done`` if anybody is verified (contract text 3), else *otherwise*."""
    contacts = contacts_of(state)
    verified = sum(contact.email is not None for contact in contacts)
    outcome: Outcome = "done" if verified else otherwise
    definite = all(checked.verdict in DEFINITE for checked in state.checked)
    # Contract C6: absence is reused only when it was established.
    reusable = outcome in {"done", "no_linkedin", "no_contacts"} or (
        outcome == "no_emails" and definite and bool(state.checked)
    )
    return LookupFinished(
        lookup=state.id,
        outcome=outcome,
        reusable=reusable,
        verified=verified,
        cut_off=otherwise == "timeout",
        brand=state.brand,
        contacts=contacts,
        at=at,
    )


def nobody(state: Lookup) -> Outcome:
    """Return how a run ends that found nobody: an answer only if every source gave one."""
    return "no_contacts" if state.conclusive else "scrape_error"


def after_verification(state: Lookup) -> Outcome:
    """Return how a run ends that verified nobody, once every mail domain is closed."""
    if state.timed_out:
        return "timeout"
    return "error" if state.unanswered and not state.answered else "no_emails"
