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
    RuleFigures,
    RunFigures,
    SearchFigures,
    SpendFigures,
    SpentOn,
    StageFigures,
    VerifierFigures,
)
from cs.history.report.fold import ReportFold
from cs.history.report.mail_counts import MailCounts
from cs.history.report.names import PluginAnswer
from cs.history.report.run_counts import RunCounts
from cs.history.report.search_counts import BANDS, SearchCounts
from cs.history.report.spend_counts import SpendCounts
from cs.paid_calls.budgets.port import MICROS

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
        searches=_searches(fold.searches),
        bucket_s=int(fold.period.step.total_seconds()),
        over_time=[
            Bucket(
                begins_at=begins_at,
                outcomes=_ordered(fold.searches.by_bucket.get(begins_at, {})),
                reused=fold.searches.reused_by_bucket[begins_at],
            )
            for begins_at in fold.period.buckets()
        ],
        runs=_runs(fold.runs),
        stages=[_stage(fold.runs, stage) for stage in STAGES],
        brand_sources=_brand_sources(fold.runs, prices),
        people_sources=_people_sources(fold.runs, prices),
        verifiers=_verifiers(fold.mail, prices),
        spend=_spend(fold.spend, fold.runs.emails),
        mail=_mail(fold.mail, top),
        freshness=_freshness(fold.searches),
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


def _searches(searches: SearchCounts) -> SearchFigures:
    return SearchFigures(
        asked=searches.asked,
        repeated=searches.repeated,
        answered=searches.answered,
        charged=searches.charged,
        reused=searches.reused,
        outcomes=_ordered(searches.outcomes),
        reused_share=share(searches.reused, searches.answered),
        time_to_answer=searches.time_to_answer.timing(),
        not_timed=searches.not_timed,
    )


def _freshness(searches: SearchCounts) -> FreshnessFigures:
    return FreshnessFigures(
        age=searches.ages.timing(),
        bands=[
            FreshnessBand(from_days=band, to_days=end, searches=searches.age_bands[band])
            for band, end in zip(BANDS, (*BANDS[1:], None), strict=True)
        ],
        not_known=searches.age_not_known,
    )


def _runs(runs: RunCounts) -> RunFigures:
    return RunFigures(
        finished=runs.finished,
        outcomes=_ordered(runs.outcomes),
        cut_off=runs.cut_off,
        took=runs.took.timing(),
        not_timed=runs.not_timed,
        people_found=runs.people_found,
        people_ranked=runs.people_ranked,
        left_out=_ordered(runs.left_out),
        people_verified=runs.people_verified,
        emails=runs.emails,
        with_email_share=share(runs.with_email, runs.finished),
        emails_per_run=share(runs.emails, runs.finished),
    )


def _stage(runs: RunCounts, stage: str) -> StageFigures:
    return StageFigures(
        stage=stage,
        took=runs.stage_took[stage].timing(),
        not_ended=runs.stage_not_ended[stage],
        failed_attempts=runs.stage_failed[stage],
        issued_again=runs.stage_issued_again[stage],
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
    runs: RunCounts, prices: Mapping[str, Decimal]
) -> Sequence[BrandSourceFigures]:
    return [
        BrandSourceFigures(
            source=source,
            ended=_ordered(ended),
            answered=_answered(ended),
            emails=runs.brand_source_emails[source],
            cost=_cost(prices.get(source), _answered(ended), runs.brand_source_emails[source]),
        )
        for source, ended in _by_name(runs.brand_sources).items()
    ]


def _people_sources(
    runs: RunCounts, prices: Mapping[str, Decimal]
) -> Sequence[PeopleSourceFigures]:
    ended = _by_name(runs.people_sources)
    return [
        PeopleSourceFigures(
            source=source,
            ended=_ordered(ended.get(source, {})),
            answered=_answered(ended.get(source, {})),
            found=runs.seen[source],
            ranked=runs.seen_ranked[source],
            emails=runs.seen_verified[source],
            cost=_cost(
                prices.get(source),
                _answered(ended.get(source, {})),
                runs.seen_verified[source],
            ),
        )
        for source in sorted({*ended, *runs.seen})
    ]


def _verifiers(mail: MailCounts, prices: Mapping[str, Decimal]) -> Sequence[VerifierFigures]:
    verdicts = _by_name(mail.verifiers)
    return [
        _verifier(mail, verifier, verdicts.get(verifier, {}), prices.get(verifier))
        for verifier in sorted(
            {*verdicts, *mail.verified_by, *(rule.who for rule in mail.bounced_by_rule)}
        )
    ]


def _verifier(
    mail: MailCounts, verifier: str, verdicts: Mapping[str, int], price: Decimal | None
) -> VerifierFigures:
    asked, unanswered = sum(verdicts.values()), mail.unanswered[verifier]
    emails = mail.verified_by[verifier]
    return VerifierFigures(
        verifier=verifier,
        asked=asked,
        unanswered=unanswered,
        verdicts=_ordered(verdicts),
        emails=emails,
        yield_share=share(emails, asked),
        bounced=sum(
            count for rule, count in mail.bounced_by_rule.items() if rule.who == verifier
        ),
        cost=_cost(price, asked - unanswered, emails),
    )


def _spend(spend: SpendCounts, emails: int) -> SpendFigures:
    every = spend.figures()
    micros = sum(each.micros for each in every)
    return SpendFigures(
        recorded=spend.recorded,
        usd=_usd(micros),
        usd_per_email=_usd_each(micros, emails),
        of_each=[
            SpentOn(
                stage=each.stage,
                name=each.name,
                asked=each.asked,
                calls=each.calls,
                found=each.found,
                used=each.used,
                usd=_usd(each.micros),
                emails=each.verified,
                usd_per_email=_usd_each(each.micros, each.verified),
            )
            for each in every
        ],
    )


def _usd(micros: int) -> Decimal:
    return (Decimal(micros) / MICROS).quantize(_CENTS, ROUND_HALF_UP)


def _usd_each(micros: int, emails: int) -> Decimal | None:
    """Return US dollars by verified e-mail; ``None`` without any."""
    return (
        (Decimal(micros) / MICROS / emails).quantize(_CENTS, ROUND_HALF_UP) if emails else None
    )


def _mail(mail: MailCounts, top: int) -> MailFigures:
    return MailFigures(
        people_checked=mail.people_checked,
        people_erased=mail.people_erased,
        verdicts=_ordered(mail.verdicts),
        catch_all_share=share(
            mail.verdicts["catch_all"], mail.people_checked - mail.people_erased
        ),
        domains_checked=mail.domains_checked,
        domains_catch_all=mail.domains_catch_all,
        domains_put_off=mail.domains_put_off,
        put_off_share=share(mail.domains_put_off, mail.domains_checked),
        asked_of_several=mail.asked_of_several,
        disagreements=[
            Disagreement(
                one=one.who,
                one_said=one.what,
                other=other.who,
                other_said=other.what,
                addresses=addresses,
            )
            for (one, other), addresses in _most(mail.disagreements)
        ],
        reasons=[
            Reason(reason=said.who, verdict=said.what, addresses=addresses)
            for said, addresses in _most(mail.reasons)[:top]
        ],
        bounces=_ordered(mail.bounces),
        rules=_rules(mail),
    )


def _rules(mail: MailCounts) -> Sequence[RuleFigures]:
    rules = {*mail.verified_by_rule, *mail.bounced_by_rule}
    ordered = sorted(
        rules, key=lambda r: (-mail.bounced_by_rule[r], -mail.verified_by_rule[r], r)
    )
    return [
        RuleFigures(
            verifier=rule.who,
            reason=rule.what,
            emails=mail.verified_by_rule[rule],
            bounced=mail.bounced_by_rule[rule],
            bounced_share=share(mail.bounced_by_rule[rule], mail.verified_by_rule[rule]),
        )
        for rule in ordered
    ]


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
            for key, (searches, charged, reused) in fold.searches.keys.top(top)
        ],
        keys_short_by=fold.searches.keys.missing,
        brands=[
            BusyBrand(
                stream=stream,
                query=queries.get(stream),
                searches=searches,
                charged=charged,
                reused=reused,
            )
            for stream, (searches, charged, reused) in fold.searches.brands.top(top)
        ],
        brands_short_by=fold.searches.brands.missing,
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
            ) in fold.mail.mail_domains.top(top)
        ],
        mail_domains_short_by=fold.mail.mail_domains.missing,
    )
