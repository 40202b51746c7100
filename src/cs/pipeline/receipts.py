"""Receipts: only a stage to which a piece of work was issued can answer it.

A process that may write to ``cs.outcomes`` could otherwise answer for any stage.  Work carries
a receipt, which every outcome repeats: an HMAC-SHA256 (RFC 2104), cut to 128 bits, of which
piece of work it is, under a secret that all roles with the master key share.  Stages hold
neither; they hand back what they got.

The attempt is not part of it.  All attempts are one piece of work: the first result wins
whichever it is from, and a stage that gets a duplicate answers with the newest attempt,
so that a receipt of its own would have to be carried along with each.
"""

import hmac
from base64 import urlsafe_b64encode

import msgspec

from cs.domain.brand.events import StageIssued
from cs.domain.source_cost import SourceFigures
from cs.domain.stages.limits import BeyondLimits, fitted
from cs.domain.stages.work import Outcome, StageInput, StageName, Work

#: Under which name the key store has the secret (`cs.keystore.port.KeyStore.secret`).
SHARED = "work"
#: RFC 2104, section 5: at least half of the hash, and 80 bits.
BYTES = 16


class Receipts:
    """Makes receipts and checks them.

    Args:
        secret: 32 bytes, the same wherever work is issued and answers are recorded.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def of(self, lookup: str, stage: StageName, item: str) -> str:
        """Return the receipt of a piece of work, 22 characters.

        >>> Receipts(bytes(32)).of("brand-a.1", "ranking", "")
        'z2koEt84Ugku3S9fqTHI5A'
        """
        named = msgspec.json.encode(["work", lookup, stage, item])
        digest = hmac.digest(self._secret, named, "sha256")[:BYTES]
        return urlsafe_b64encode(digest).decode().rstrip("=")

    def work(self, issued: StageIssued, figures: tuple[SourceFigures, ...] = ()) -> Work:
        """Return the message that brings *issued*, with *figures*, to its stage."""
        return Work(
            lookup=issued.lookup,
            stage=issued.stage,
            item=issued.item,
            attempt=issued.attempt,
            deadline_at=issued.deadline_at,
            input=_within_limits(issued.input),
            receipt=self.of(issued.lookup, issued.stage, issued.item),
            figures=figures,
        )

    def match(self, outcome: Outcome) -> bool:
        """Say whether *outcome* repeats the receipt of the work that it answers."""
        due = self.of(outcome.lookup, outcome.stage, outcome.item)
        return hmac.compare_digest(due, outcome.receipt)


def _within_limits(work: StageInput) -> StageInput:
    """Return *work* as a stage can read it; it may be older than the limits."""
    try:
        return fitted(work)
    except BeyondLimits:
        return work  # the stage refuses it
