"""What a report says: shapes for whoever prints, draws or reads it as JSON.

A share is from 0 to 1, or ``None`` where there is nothing to share; a time is in seconds.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from cs.domain.contact import Query


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all figures."""


class Timing(Figures, frozen=True, kw_only=True):
    """How long something took, in three digits; ``None`` if it never happened.

    Attributes:
        count: How many were timed.
        p50_s, p95_s, max_s: Quantiles by nearest rank.
    """

    count: int
    p50_s: float | None
    p95_s: float | None
    max_s: float | None


class SearchFigures(Figures, frozen=True, kw_only=True):
    """Searches, which are counted when they are answered.

    Attributes:
        asked: Admitted in the period, answered in it or later.
        repeated: The same running search asked for again.
        answered: In the period.
        charged: Of those answered.
        reused: Of those answered, from an earlier run.
        outcomes: Answered ones by outcome.
        reused_share: Of those answered.
        time_to_answer: Of those that waited for a run.
        not_timed: Answered ones whose beginning was not read (`reading.LEAD_IN`).
    """

    asked: int
    repeated: int
    answered: int
    charged: int
    reused: int
    outcomes: Mapping[str, int]
    reused_share: float | None
    time_to_answer: Timing
    not_timed: int


class Bucket(Figures, frozen=True, kw_only=True):
    """Searches answered from ``begins_at`` on, until the next bucket begins."""

    begins_at: datetime
    outcomes: Mapping[str, int]
    reused: int


class StageFigures(Figures, frozen=True, kw_only=True):
    """One stage, in runs that finished in the period.

    Attributes:
        took: From the first issue of its work to the end of the last piece of it.
        not_ended: Runs that were over before it was.
        failed_attempts: Attempts without a result, when they failed in the period.
        issued_again: Pieces of work issued more than once, for whatever reason.
    """

    stage: str
    took: Timing
    not_ended: int
    failed_attempts: int
    issued_again: int


class RunFigures(Figures, frozen=True, kw_only=True):
    """Live runs, which are counted when they finish.

    Attributes:
        outcomes: By outcome.
        cut_off: Ended by their deadline with what was there.
        took: From start to finish.
        not_timed: Finished ones whose beginning was not read.
        people_found, people_ranked, people_verified: Whom they found, kept in a role, and
            verified an e-mail of; erased ones stay counted.
        left_out: Of those found, who was not kept, by why (`cs.domain.headline.left_out`).
        emails: Verified e-mails returned.
        with_email_share: Of the runs, those with at least one.
        emails_per_run: On average.
    """

    finished: int
    outcomes: Mapping[str, int]
    cut_off: int
    took: Timing
    not_timed: int
    people_found: int
    people_ranked: int
    left_out: Mapping[str, int]
    people_verified: int
    emails: int
    with_email_share: float | None
    emails_per_run: float | None


class Cost(Figures, frozen=True, kw_only=True):
    """What somebody who was asked cost.

    Attributes:
        price: Of one question, as whoever asks for the report says; what the log has is in
            `SpendFigures`.
        total: Price times questions answered.
        per_email: By verified e-mails; ``None`` without any.
    """

    price: Decimal
    total: Decimal
    per_email: Decimal | None


class SpentOn(Figures, frozen=True, kw_only=True):
    """What the log says that one source or verifier cost, whatever became of its attempts.

    Attributes:
        stage, name: Who was asked, and by which stage.
        asked: Questions of the stage.
        calls: Calls to a service that charges; what was known from before is none.
        found, used: What it gave, and what the stage went on with.
        usd: What the calls cost at most, in US dollars.
        emails: Verified people whom it named first, or whose e-mail it confirmed, of runs
            that finished in the period.
        usd_per_email: ``None`` without any.
    """

    stage: str
    name: str
    asked: int
    calls: int
    found: int
    used: int
    usd: Decimal
    emails: int
    usd_per_email: Decimal | None


class SpendFigures(Figures, frozen=True, kw_only=True):
    """What the log says that the period cost.

    Attributes:
        recorded: Whether any event of the period says what it cost.
        usd: Of all calls, in US dollars.
        usd_per_email: By the verified e-mails of runs that finished; ``None`` without any.
        of_each: By stage and name.
    """

    recorded: bool
    usd: Decimal
    usd_per_email: Decimal | None
    of_each: Sequence[SpentOn]


class BrandSourceFigures(Figures, frozen=True, kw_only=True):
    """One brand source, in runs that finished in the period.

    Attributes:
        ended: In how many runs it ended as what: used, no_results, failed ...
        answered: Used or no_results.
        emails: Verified in the runs in which it was used.
        cost: ``None``: not recorded, and no price was said.
    """

    source: str
    ended: Mapping[str, int]
    answered: int
    emails: int
    cost: Cost | None


class PeopleSourceFigures(Figures, frozen=True, kw_only=True):
    """One people source, in runs that finished in the period.

    Whoever two sources saw counts for both.

    Attributes:
        ended, answered, cost: As in `BrandSourceFigures`.
        found, ranked, emails: People it saw; of those, in a role; of those, verified.
    """

    source: str
    ended: Mapping[str, int]
    answered: int
    found: int
    ranked: int
    emails: int
    cost: Cost | None


class VerifierFigures(Figures, frozen=True, kw_only=True):
    """One verifier.

    Attributes:
        asked: Addresses it was asked about.
        unanswered: Of those, without any reply of the outside world.
        verdicts: Of those, by what it said.
        emails: E-mails that it verified.
        yield_share: E-mails by addresses asked.
        bounced: E-mails that it had vouched for, of whenever, and mail to them came back for
            good, as was told in the period.
        cost: By addresses that it answered about; ``None``: not recorded, no price was said.
    """

    verifier: str
    asked: int
    unanswered: int
    verdicts: Mapping[str, int]
    emails: int
    yield_share: float | None
    bounced: int
    cost: Cost | None


class Disagreement(Figures, frozen=True, kw_only=True):
    """Addresses of which two verifiers said different things, neither *unknown*."""

    one: str
    one_said: str
    other: str
    other_said: str
    addresses: int


class Reason(Figures, frozen=True, kw_only=True):
    """Why verifiers said what they said, by address asked about."""

    reason: str
    verdict: str
    addresses: int


class RuleFigures(Figures, frozen=True, kw_only=True):
    """What one rule of a verifier had vouched for.

    Attributes:
        reason: The rule, as evidence names it; empty: not recorded.
        emails: E-mails that were verified by it in the period.
        bounced: E-mails verified by it, of whenever, of which was told in the period that mail
            to them came back for good: its wrong verdicts.
        bounced_share: Of those verified; more than 1 where most were verified before.
    """

    verifier: str
    reason: str
    emails: int
    bounced: int
    bounced_share: float | None


class MailFigures(Figures, frozen=True, kw_only=True):
    """Verification, as it went in the period.

    Attributes:
        people_checked: People at one mail domain each.
        people_erased: Of those, erased since: what was said of them is not known.
        verdicts: The others by verdict.
        catch_all_share: Of the others, at a domain that accepts every address.
        domains_checked: Mail domains, each as often as a run was done with it.
        domains_catch_all: Of those, that accept every address.
        domains_put_off: Of those, that had us come back later, as greylisting does; the log
            does not tell it from other reasons to.
        put_off_share: Of those.
        asked_of_several: Addresses of which two verifiers or more said something.
        disagreements: Among those, by who said what.
        reasons: The most frequent ones.
        bounces: Told of in the period, by what follows: ``permanent``, ``temporary``,
            ``other``.
        rules: By which e-mails were verified, or had been that bounced; the most wrong first.
    """

    people_checked: int
    people_erased: int
    verdicts: Mapping[str, int]
    catch_all_share: float | None
    domains_checked: int
    domains_catch_all: int
    domains_put_off: int
    put_off_share: float | None
    asked_of_several: int
    disagreements: Sequence[Disagreement]
    reasons: Sequence[Reason]
    bounces: Mapping[str, int]
    rules: Sequence[RuleFigures]


class FreshnessBand(Figures, frozen=True, kw_only=True):
    """Results at least ``from_days`` and less than ``to_days`` old."""

    from_days: int
    to_days: int | None
    searches: int


class FreshnessFigures(Figures, frozen=True, kw_only=True):
    """How old results were when a search was answered with them.

    Attributes:
        age: Of those reused.
        bands: Of those reused, by age in days.
        not_known: Reused ones whose run's finish cannot be read.
    """

    age: Timing
    bands: Sequence[FreshnessBand]
    not_known: int


class BusyKey(Figures, frozen=True, kw_only=True):
    """Searches of a key, answered in the period."""

    key: str
    label: str
    searches: int
    charged: int
    reused: int


class BusyBrand(Figures, frozen=True, kw_only=True):
    """Searches for a brand, answered in the period."""

    stream: str
    query: Query | None
    searches: int
    charged: int
    reused: int


class BusyMailDomain(Figures, frozen=True, kw_only=True):
    """People checked at a mail domain in runs that were done with it in the period."""

    mail_domain: str
    people: int
    verified: int
    checks: int
    catch_all: int
    put_off: int


class Busiest(Figures, frozen=True, kw_only=True):
    """The busiest of each, busiest first.

    Attributes:
        keys_short_by, brands_short_by, mail_domains_short_by: How much too low a first count
            may be (`cs.history.report.counting.Busiest`); 0: exact.
    """

    keys: Sequence[BusyKey]
    keys_short_by: int
    brands: Sequence[BusyBrand]
    brands_short_by: int
    mail_domains: Sequence[BusyMailDomain]
    mail_domains_short_by: int


class Report(Figures, frozen=True, kw_only=True):
    """All of it.

    Attributes:
        since: The period begins here, this moment included.
        until: And ends before here.
        upto: Position of the last event there was when it was made.
        events: Events of the period that were counted.
        left_out: Events, by why: ``damaged`` or written by a ``newer`` version.
        bucket_s: How long a bucket of ``over_time`` is.
    """

    since: datetime
    until: datetime
    upto: int
    events: int
    left_out: Mapping[str, int]
    searches: SearchFigures
    bucket_s: int
    over_time: Sequence[Bucket]
    runs: RunFigures
    stages: Sequence[StageFigures]
    brand_sources: Sequence[BrandSourceFigures]
    people_sources: Sequence[PeopleSourceFigures]
    verifiers: Sequence[VerifierFigures]
    spend: SpendFigures
    mail: MailFigures
    freshness: FreshnessFigures
    busiest: Busiest
