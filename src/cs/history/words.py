"""The meaning of stored words and causes, for pages and the terminal.

A reason of a plug-in is not listed here and is shown as it is.
"""

from collections import Counter
from collections.abc import Mapping

from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.runs import Run


def cause_in_words(cause: AnyCause | None) -> str:
    """Return *cause* in a few words; ``cs events why`` has the whole chain.

    >>> id_ = "brand-75.1-k7/verification/acme.test/2/result"
    >>> cause_in_words(MessageCause(topic="cs.outcomes.v1", id=id_, attempt=2))
    'message result, attempt 2'
    """
    match cause:
        case RequestCause(id=request):
            return f"call {request}"
        case MessageCause(id=message, attempt=attempt):
            return f"message {message.rpartition('/')[2]}, attempt {attempt}"
        case TimerCause(timer=timer):
            return f"timer: {timer}"
        case OperatorCause(command=command, who=who):
            return f"operator {who or 'unnamed'}: cs {command}"
        case EventCause(position=position):
            return f"event {position}"
        case StartCause():
            return "start of a process"
        case None:
            return NOT_RECORDED


#: Reasons of verdicts (docs/verifiers.md, "Reasons").
REASONS: Mapping[str, str] = {
    "recipient-accepted": "the server takes mail for it, and refuses made-up names",
    "recipient-refused": "the server reports that there is no such mailbox",
    "bounced": "mail to it came back before",
    "disabled": "the server says that the mailbox is disabled",
    "bare-refusal": "refused without a reason",
    "no-such-domain": "the mail domain does not exist in the DNS",
    "null-mx": "the domain says that it takes no mail (RFC 7505)",
    "no-mail-host": "the domain names no mail server",
    "bad-address": "it is no address of the domain (RFC 5321)",
    "catch-all": "the domain accepts every name, so acceptance proves nothing",
    "accepts-anybody": "after a while the server accepted a made-up name",
    "mailbox-full": "the server says that the mailbox is full",
    "greylisted": "the server asked to come back later (RFC 6647)",
    "in-progress": "the server had not decided yet",
    "recipient-busy": "the mailbox takes no more mail for now",
    "transient": "the server had trouble for the moment",
    "closing": "the server was closing",
    "too-many-recipients": "the server wants fewer questions in one session",
    "probe-inconclusive": "accepted, but the server would not say what it does with "
    "made-up names",
    "backup-accepts-anybody": "only a backup server could be asked, which accepts every name",
    "about-us": "the server refused us, not the mailbox",
    "sender": "the server refused our sender, not the mailbox",
    "starttls-required": "the server requires TLS, and TLS failed",
    "not-hosted": "the server does not take mail for this domain",
    "refused-like-postmaster": "refused in the same words as postmaster: the server refuses us",
    "cannot-verify": "the server says that it does not tell (252)",
    "unclear": "the reply could be read either way",
    "accepted": "the server takes mail for it",
    "connect": "no connection to the server",
    "timeout": "no answer in time",
    "closed": "the server closed the connection",
    "protocol": "the server did not speak SMTP",
    "out-of-step": "the server answered before it was asked",
    "tls": "encryption failed",
    "dns-no-answer": "the DNS did not answer",
    "forbidden-address": "the mail server's address is one that must not be contacted",
    "mail-host-without-address": "the mail server has no address",
}

#: Why a person is in the answer or not.
KEPT: Mapping[str, str] = {
    "verified": "shown, with a verified e-mail",
    "not-verified": "shown, no mailbox could be verified",
    "bounced": "shown without an e-mail: mail to the verified one came back",
    "anothers-mailbox": "shown without an e-mail: the mailbox belongs to a person ranked above",
    "not-eligible": "left out: no role in influencer, social, partnerships or brand "
    "marketing from manager up",
    "recruiter": "left out: finds people for others' roles",
    "creator": "left out: a creator, not someone who works with creators",
    "agency": "left out: of an agency that serves brands",
    "seller": "left out: of a firm whose product is for influencer marketing",
    "former": "left out: had such a role or worked there before, and does not today",
    "namesake": "left out: works for another company with the brand's name in its own",
    "other-company": "left out: works elsewhere by now",
    "over-limit": "left out: more people than are shown",
    "not-ranked": "not ranked yet",
    "not-ended": "ranked, and the run has not ended",
    "not-shown": "not in the answer",
}

#: How a source ended, where its own word would be read as a number of results.
ENDED: Mapping[str, str] = {"used": "answered"}

#: The outcomes of searches (contract text 7).
OUTCOMES: Mapping[str, str] = {
    "done": "at least one verified e-mail",
    "no_linkedin": "the company could not be pinned down",
    "no_contacts": "no person in a marketing role",
    "no_emails": "no e-mail could be verified",
    "scrape_error": "a source did not answer",
    "timeout": "time ran out",
    "error": "the service could not do its part",
}


def facts_in_words(known: DomainFacts) -> str:
    """Return what is *known* of a mail domain, in a line."""
    said = [
        words
        for value, words in (
            (known.catch_all is True, "accepts every address, so none can be verified"),
            (known.catch_all is False, "refuses made-up addresses"),
            (known.greylists is True, "asks to come back later (greylists)"),
            (known.greylists is False, "does not greylist"),
            (known.one_recipient is True, "takes one recipient a session"),
            (known.pattern, f"addresses are written {known.pattern}"),
        )
        if value
    ]
    return ", ".join(said) or "nothing"


def why_ended(run: Run) -> str:
    """Return why *run* ended as it did, in words that name no person; empty: not known."""
    match run.outcome:
        case "done":
            return f"{run.verified} of {len(run.contacts)} people shown have one"
        case "no_linkedin" if run.status == "no_match":
            return "no source knows it"
        case "no_linkedin" if run.status == "ambiguous":
            return "several have this name; search with a domain as well"
        case "no_contacts" if run.people:
            counts = Counter(each.why for each in run.people).most_common()
            left = (f"{n} {KEPT.get(why, why).removeprefix('left out: ')}" for why, n in counts)
            return f"of {len(run.people)} found, {'; '.join(left)}"
        case "no_emails":
            return _no_emails(run)
        case _:
            return failed_last(run)


def failed_last(run: Run) -> str:
    """Return what the last failed attempt of *run* said; empty: none failed."""
    failed = [each for each in run.attempts if each.end == "failed"]
    if not failed:
        return ""
    of_sources = [f"{name}: {cause}" for name, cause in failed[-1].causes.items()]
    return "; ".join([f"{failed[-1].stage}: {failed[-1].why}", *of_sources])


def _no_emails(run: Run) -> str:
    """Return for each mail domain why no address there could be verified."""
    checks = [check.checked for person in run.people for check in person.checks]
    said = []
    for domain in dict.fromkeys(each.mail_domain for each in checks):
        found = [e for each in checks if each.mail_domain == domain for e in each.evidence]
        if any(each.verdict is Verdict.CATCH_ALL for each in found):
            said.append(f"{domain} accepts every address, so no address there can be verified")
        elif found:
            reason, n = Counter(each.reason for each in found).most_common(1)[0]
            # Another reason is of a plug-in, and may name a person.
            words = REASONS.get(reason, "a reason of the verifier's own")
            said.append(f"at {domain} {n} of {len(found)} addresses: {words}")
    if not checks and not (run.brand and run.brand.mail_domains):
        said.append("no mail domain of the company is known")
    return "; ".join(said) or failed_last(run)
