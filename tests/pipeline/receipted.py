"""Receipts of a service in a test, and who proves mailboxes there."""

from msgspec.structs import replace

from cs.domain.stages.work import Outcome
from cs.pipeline.receipts import Receipts

RECEIPTS = Receipts(b"a secret that all roles share 32b")
VERIFIERS = ("smtp",)


def receipted(outcome: Outcome) -> Outcome:
    """Return *outcome* as whoever was given the work says it."""
    receipt = RECEIPTS.of(outcome.lookup, outcome.stage, outcome.item)
    return replace(outcome, receipt=receipt)
