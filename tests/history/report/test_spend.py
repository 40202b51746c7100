"""What a period cost by its log: each source and verifier, and a verified e-mail."""

from datetime import timedelta
from decimal import Decimal

from msgspec.structs import replace

from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import Discovered, DomainVerified, Failed, RankingDone
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append
from cs.history.report.figures import SpendFigures
from cs.history.report.period import Period
from cs.history.report.reading import make_report
from cs.history.report.tables import tables
from cs.keystore.memory import MemoryKeyStore
from domain.acme_run import ADA, AT, BEN, HOME, RESOLVED, STREAM, AcmeRun, checked, ranked

DAY = timedelta(days=1)
CENT = 10_000


def paid(name: str, calls: int, **more: int) -> SourceCost:
    return SourceCost(name=name, asked=calls, calls=calls, micros=calls * CENT, **more)


async def spend_of(run: AcmeRun, days: int) -> tuple[SpendFigures, str]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await log.append([Append(STREAM, NO_STREAM, run.events)])
    report = await make_report(log, keys, Period(AT + (days - 1) * DAY, AT + days * DAY))
    (table,) = [each for each in tables(report) if each.title == "Cost per verified e-mail"]
    return report.spend, "\n".join(["\t".join(row) for row in table.rows] + [table.about])


async def test_money_and_e_mails_are_those_of_the_log_failed_attempts_too() -> None:
    run = AcmeRun()
    run.record("brand-resolution", replace(RESOLVED, costs=(SourceCost(name="web", asked=1),)))
    away = Failed(why="sources-away", retryable=False, costs=(paid("brave", 1),))
    found = Discovered(
        people=(replace(ADA, source="brave"), BEN),
        costs=(paid("brave", 2, found=1, used=1), SourceCost(name="hunter")),
    )
    run.record("contact-discovery", found)
    run.record("ranking", RankingDone((ranked("p1"),), costs=(paid("opinion", 4),)))
    costs = (SourceCost(name="smtp", asked=2), paid("kickbox", 3, found=1, used=1))
    done = DomainVerified((checked("p1", Verdict.DELIVERABLE),), costs=costs)
    run.record("verification", done, item=HOME)
    again = AcmeRun(stream="brand-other")
    again.failed("brand-resolution", away)
    run.events += again.events

    spend, shown = await spend_of(run, days=1)

    assert (spend.usd, spend.usd_per_email) == (Decimal("0.1000"), Decimal("0.1000"))
    each = {
        (e.stage, e.name): (e.asked, e.calls, e.usd, e.emails, e.usd_per_email)
        for e in spend.of_each
    }
    cents = [Decimal(n) / 100 for n in range(5)]
    assert each == {
        ("brand-resolution", "brave"): (1, 1, cents[1], 0, None),
        ("brand-resolution", "web"): (1, 0, cents[0], 0, None),
        ("contact-discovery", "brave"): (2, 2, cents[2], 1, cents[2]),
        ("ranking", "opinion"): (4, 4, cents[4], 0, None),
        ("verification", "kickbox"): (3, 3, cents[3], 0, None),
        ("verification", "smtp"): (2, 0, cents[0], 1, cents[0]),
    }
    assert "contact-discovery\tbrave\t2\t2\t0.0200\t1\t0.0200" in shown
    assert "$0.1000 a verified e-mail of 1" in shown
    assert "$0.016 to $0.048" in shown


async def test_a_period_without_costs_says_that_they_are_not_recorded() -> None:
    spend, _ = await spend_of(AcmeRun().resolved(), days=1)
    later, _ = await spend_of(AcmeRun().resolved(), days=2)

    assert (spend.recorded, spend.usd, spend.usd_per_email) == (False, Decimal("0.0000"), None)
    assert later == spend
