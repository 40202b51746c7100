"""The figures of a report, from what its fold has counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeVar

from cs.domain.contact import Query
from cs.domain.stages.table import STAGES
from cs.history.report.figures import (
    BrandSourceFigures,
    Bucket,
    Busiest,
    BusyBrand,
    BusyKey,
    BusyMailDomain,
    Cost,
    Disagreement,
    FreshnessBand,
    FreshnessFigures,
    MailFigures,
    PeopleSourceFigures,
    Reason,
    Report,
    RunFigures,
    SearchFigures,
    StageFigures,
    VerifierFigures,
)
from cs.history.report.fold import BANDS, PluginAnswer, ReportFold

T = TypeVar("T", PluginAnswer, tuple[PluginAnswer, PluginAnswer])

#: Of the busiest, and of reasons: so many are listed unless more are wanted.
TOP = 10
#: How a source ended that has answered, and may have cost something.
_ANSWERED = ("used", "no_results")
_CENTS = Decimal("0.0001")


def report_of(
    fold: ReportFold,
    *,
    upto: int,
    left_out: Mapping[str, int],
    labels: Mapping[str, str],
    queries: Mapping[str, Query | None],
    prices: Mapping[str, Decimal],
    top: int = TOP,
) -> Report:
    """Return what *fold* has counted.

    Args:
        fold: Has seen all events.
        upto: Position of the last event there was.
        left_out: Events that could not be counted, by why.
        labels: Of the busiest keys, by id.
        queries: Of the busiest brands, by stream.
        prices: Of one question to a source or verifier, by its name.
        top: So many of the busiest.
    """
    return Report(
        since=fold.period.since,
        until=fold.period.until,
        upto=upto,
        events=fold.events,
        left_out=dict(sorted(left_out.items())),
        searches=_searches(fold),
        bucket_s=int(fold.step.total_seconds()),
        over_time=[
            Bucket(
                begins_at=begins_at,
                outcomes=_ordered(fold.by_bucket.get(begins_at, {})),
                reused=fold.reused_by_bucket[begins_at],
            )
            for begins_at in fold.period.buckets()
        ],
        runs=_runs(fold),
        stages=[_stage(fold, stage) for stage in STAGES],
        brand_sources=_brand_sources(fold, prices),
        people_sources=_people_sources(fold, prices),
        verifiers=_verifiers(fold, prices),
        mail=_mail(fold, top),
        freshness=FreshnessFigures(
            age=fold.ages.timing(),
            bands=[
                FreshnessBand(from_days=band, to_days=end, searches=fold.age_bands[band])
                for band, end in zip(BANDS, (*BANDS[1:], None), strict=True)
            ],
            not_known=fold.age_not_known,
        ),
        busiest=_busiest(fold, labels, queries, top),
    )


def share(part: int, whole: int) -> float | None:
    """Return *part* of *whole* in four digits; ``None`` of nothing.

    >>> share(1, 3), share(0, 0)
    (0.3333, None)
    """
    return round(part / whole, 4) if whole else None


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """Return what occurred, the most frequent first."""
    some = ((name, count) for name, count in counts.items() if count)
    return dict(sorted(some, key=lambda item: (-item[1], item[0])))


def _searches(fold: ReportFold) -> SearchFigures:
    return SearchFigures(
        asked=fold.asked,
        repeated=fold.repeated,
        answered=fold.answered,
        charged=fold.charged,
        reused=fold.reused,
        outcomes=_ordered(fold.search_outcomes),
        reused_share=share(fold.reused, fold.answered),
        time_to_answer=fold.time_to_answer.timing(),
        not_timed=fold.searches_not_timed,
    )


def _runs(fold: ReportFold) -> RunFigures:
    return RunFigures(
        finished=fold.finished,
        outcomes=_ordered(fold.run_outcomes),
        cut_off=fold.cut_off,
        took=fold.run_took.timing(),
        not_timed=fold.runs_not_timed,
        people_found=fold.people_found,
        people_ranked=fold.people_ranked,
        people_verified=fold.people_verified,
        emails=fold.emails,
        with_email_share=share(fold.with_email, fold.finished),
        emails_per_run=share(fold.emails, fold.finished),
    )


def _stage(fold: ReportFold, stage: str) -> StageFigures:
    return StageFigures(
        stage=stage,
        took=fold.stage_took[stage].timing(),
        not_ended=fold.stage_not_ended[stage],
        failed_attempts=fold.stage_failed[stage],
        issued_again=fold.stage_issued_again[stage],
    )


def _cost(price: Decimal | None, answered: int, emails: int) -> Cost | None:
    if price is None:
        return None
    total = price * answered
    per_email = (total / emails).quantize(_CENTS, ROUND_HALF_UP) if emails else None
    return Cost(price=price, total=total, per_email=per_email)


def _by_name(counts: Mapping[PluginAnswer, int]) -> Mapping[str, Counter[str]]:
    """Return the second counts of each name, by name."""
    found: dict[str, Counter[str]] = {}
    for (who, what), count in sorted(counts.items()):
        found.setdefault(who, Counter())[what] += count
    return found


def _answered(ended: Mapping[str, int]) -> int:
    return sum(ended.get(each, 0) for each in _ANSWERED)


def _brand_sources(
    fold: ReportFold, prices: Mapping[str, Decimal]
) -> Sequence[BrandSourceFigures]:
    return [
        BrandSourceFigures(
            source=source,
            ended=_ordered(ended),
            answered=_answered(ended),
            emails=fold.brand_source_emails[source],
            cost=_cost(prices.get(source), _answered(ended), fold.brand_source_emails[source]),
        )
        for source, ended in _by_name(fold.brand_sources).items()
    ]


def _people_sources(
    fold: ReportFold, prices: Mapping[str, Decimal]
) -> Sequence[PeopleSourceFigures]:
    ended = _by_name(fold.people_sources)
    return [
        PeopleSourceFigures(
            source=source,
            ended=_ordered(ended.get(source, {})),
            answered=_answered(ended.get(source, {})),
            found=fold.seen[source],
            ranked=fold.seen_ranked[source],
            emails=fold.seen_verified[source],
            cost=_cost(
                prices.get(source),
                _answered(ended.get(source, {})),
                fold.seen_verified[source],
            ),
        )
        for source in sorted({*ended, *fold.seen})
    ]


def _verifiers(fold: ReportFold, prices: Mapping[str, Decimal]) -> Sequence[VerifierFigures]:
    verdicts = _by_name(fold.verifiers)
    return [
        _verifier(fold, verifier, verdicts.get(verifier, {}), prices.get(verifier))
        for verifier in sorted({*verdicts, *fold.verified_by})
    ]


def _verifier(
    fold: ReportFold, verifier: str, verdicts: Mapping[str, int], price: Decimal | None
) -> VerifierFigures:
    asked, unanswered = sum(verdicts.values()), fold.unanswered[verifier]
    emails = fold.verified_by[verifier]
    return VerifierFigures(
        verifier=verifier,
        asked=asked,
        unanswered=unanswered,
        verdicts=_ordered(verdicts),
        emails=emails,
        yield_share=share(emails, asked),
        cost=_cost(price, asked - unanswered, emails),
    )


def _mail(fold: ReportFold, top: int) -> MailFigures:
    return MailFigures(
        people_checked=fold.people_checked,
        people_erased=fold.people_erased,
        verdicts=_ordered(fold.verdicts),
        catch_all_share=share(
            fold.verdicts["catch_all"], fold.people_checked - fold.people_erased
        ),
        domains_checked=fold.domains_checked,
        domains_catch_all=fold.domains_catch_all,
        domains_put_off=fold.domains_put_off,
        put_off_share=share(fold.domains_put_off, fold.domains_checked),
        asked_of_several=fold.asked_of_several,
        disagreements=[
            Disagreement(
                one=one.who,
                one_said=one.what,
                other=other.who,
                other_said=other.what,
                addresses=addresses,
            )
            for (one, other), addresses in _most(fold.disagreements)
        ],
        reasons=[
            Reason(reason=said.who, verdict=said.what, addresses=addresses)
            for said, addresses in _most(fold.reasons)[:top]
        ],
    )


def _most(counts: Mapping[T, int]) -> list[tuple[T, int]]:
    """Return what occurred, the most frequent first, then in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _busiest(
    fold: ReportFold,
    labels: Mapping[str, str],
    queries: Mapping[str, Query | None],
    top: int,
) -> Busiest:
    return Busiest(
        keys=[
            BusyKey(
                key=key,
                label=labels.get(key, ""),
                searches=searches,
                charged=charged,
                reused=reused,
            )
            for key, (searches, charged, reused) in fold.keys.top(top)
        ],
        keys_short_by=fold.keys.missing,
        brands=[
            BusyBrand(
                stream=stream,
                query=queries.get(stream),
                searches=searches,
                charged=charged,
                reused=reused,
            )
            for stream, (searches, charged, reused) in fold.brands.top(top)
        ],
        brands_short_by=fold.brands.missing,
        mail_domains=[
            BusyMailDomain(
                mail_domain=mail_domain,
                people=people,
                verified=verified,
                checks=checks,
                catch_all=catch_all,
                put_off=put_off,
            )
            for mail_domain, (
                people,
                verified,
                checks,
                catch_all,
                put_off,
            ) in fold.mail_domains.top(top)
        ],
        mail_domains_short_by=fold.mail_domains.missing,
    )
