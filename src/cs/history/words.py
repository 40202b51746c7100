"""The meaning of stored words and causes, for pages and the terminal.

A reason of a plug-in is not listed here and is shown as it is.
"""

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
from cs.domain.rule_sets import NOT_RECORDED


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
