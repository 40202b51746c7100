"""Conclusion from all evidence about one person at one mail domain.  Pure."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from cs.domain.mail.mailbox import BOUNCED, Evidence, Verdict

#: From knowing least to knowing most.  Of what several verifiers say of one address the
#: last in this order counts, of a person's several addresses the first.
_CERTAINTY = (
    Verdict.UNKNOWN,
    Verdict.CATCH_ALL,
    Verdict.MAILBOX_FULL,
    Verdict.UNDELIVERABLE,
    Verdict.DELIVERABLE,
)

#: The reason if verifiers contradict each other; the evidence of each is stored.
DISAGREE = "verifiers-disagree"


class Conclusion(msgspec.Struct, frozen=True):
    """Verdict on a person; ``address`` and ``verifier`` are set if it is deliverable."""

    verdict: Verdict
    address: str | None = None
    verifier: str | None = None


def decisive(found: Sequence[Evidence]) -> Evidence:
    """Return the evidence that counts, of what verifiers found about one address.

    Of those that know equally much, the one that would be asked again.  Two that contradict
    each other leave it unknown (`DISAGREE`).  A bounce outweighs them all.
    """
    bounced = [each for each in found if each.reason == BOUNCED]
    if bounced:
        return bounced[0]
    best = max(found, key=lambda e: (_CERTAINTY.index(e.verdict), e.retry_in_s or 0.0))
    if any(contradicts(other, best) for other in found):
        return replace(best, verdict=Verdict.UNKNOWN, reason=DISAGREE, retry_in_s=None)
    return best


def contradicts(found: Evidence, deliverable: Evidence) -> bool:
    """Say whether *found*, another verifier's, says the contrary of *deliverable*."""
    return (
        deliverable.verdict is Verdict.DELIVERABLE
        and found.verifier != deliverable.verifier
        and found.address == deliverable.address
        and found.verdict in {Verdict.UNDELIVERABLE, Verdict.CATCH_ALL}
    )


def concluded(tried: Mapping[str, Sequence[Evidence]]) -> Conclusion:
    """Return what was found out about one person.

    A person with a deliverable address is verified by the first one tried; otherwise the
    address counts of which least is known.

    Args:
        tried: By address, in the order they were tried in: what verifiers found about it.
    """
    answers = {address: decisive(found) for address, found in tried.items()}
    for address, answer in answers.items():
        if answer.verdict is Verdict.DELIVERABLE:
            return Conclusion(answer.verdict, address, answer.verifier)
    verdicts = (answer.verdict for answer in answers.values())
    return Conclusion(min(verdicts, key=_CERTAINTY.index, default=Verdict.UNKNOWN))
