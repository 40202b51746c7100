"""A stage's attempt failed: it is tried again, or was the last.  Pure."""

from collections.abc import Collection
from datetime import datetime, timedelta

from cs.domain.brand.events import AttemptFailed, BrandEvent
from cs.domain.cause import stored
from cs.domain.key import Outcome
from cs.domain.lookup.finish import finish
from cs.domain.lookup.mailboxes import close_domain
from cs.domain.lookup.state import Lookup, Open, evolve
from cs.domain.stages.work import (
    NO_BRAND_SOURCE,
    NO_PEOPLE_SOURCE,
    SOURCES_REFUSE,
    Failed,
    StageName,
)

#: Attempts of a stage, silence aside.  Verification may wait for a greylisting server
#: as often as the deadline allows, within reason.
ATTEMPTS: dict[StageName, int] = {
    "brand-resolution": 3,
    "contact-discovery": 3,
    "ranking": 3,
    "verification": 6,
}
#: Wait before the second attempt when the outside named none; fourfold for each further.
FIRST_RETRY = timedelta(seconds=2)
#: A longer wait that the outside asks for outlives every lookup.
LONGEST_RETRY_S = 86_400.0
#: How a lookup ends whose stage failed for good, other than by the outside world.
_WHY_OUTCOME: dict[str, Outcome] = {
    "bug": "error",
    "timeout": "timeout",
    NO_BRAND_SOURCE: "error",
    NO_PEOPLE_SOURCE: "error",
    SOURCES_REFUSE: "error",
}


def failed(
    state: Lookup,
    work: Open,
    attempt: int,
    finding: Failed,
    at: datetime,
    *,
    verifiers: Collection[str],
) -> tuple[BrandEvent, ...]:
    """Return what a failed *attempt* at *work* causes: a retry, or the end of it."""
    if work.attempt != attempt or work.retry_at is not None:
        return ()  # an attempt that was given up before
    tried = work.failures
    asked = min(max(finding.retry_in_s or 0.0, 0.0), LONGEST_RETRY_S)
    retry_at = at + (timedelta(seconds=asked) or FIRST_RETRY * 4 ** min(tried - 1, 6))
    again = finding.retryable and tried < ATTEMPTS[work.stage] and retry_at < state.deadline_at
    event = AttemptFailed(
        lookup=state.id,
        stage=work.stage,
        item=work.item,
        attempt=attempt,
        why=finding.why,
        retry_at=retry_at if again else None,
        causes=stored(finding.causes),
        at=at,
    )
    if again:
        return (event,)
    after = evolve(state, event)
    if work.stage == "verification":
        closing = close_domain(
            after, work.item, finding.checked, finding.learned, at, verifiers=verifiers
        )
        return (event, *closing)
    return (event, finish(after, _WHY_OUTCOME.get(finding.why, "scrape_error"), at))
