"""The two stages that ask sources, and their results by the answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from cli.command import Here
from cs.domain.contact import BrandFacts, Query, Sighting
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    Failed,
    PeopleSeen,
    ResolutionInput,
    Resolved,
    StageInput,
    Work,
)
from cs.plugins.sources import BrandAnswer, BrandMatch, PeopleAnswer, SourceStatus
from cs.plugins.stages import Stage
from domain.acme_run import ACME, ADA, AT, BEN
from harness.outside import set_up, stage_of
from harness.outside import stage as build
from outside.loopback_web import pages, serve


@dataclass
class Brands:
    name: str
    ended: SourceStatus
    found: tuple[BrandFacts, ...] = ()
    retry_in_s: float | None = None

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        matches = tuple(BrandMatch(facts=f, score=0.9, key=f.domain or "") for f in self.found)
        return BrandAnswer(
            source=self.name, ended=self.ended, matches=matches, retry_in_s=self.retry_in_s
        )


@dataclass
class People:
    name: str
    ended: SourceStatus
    people: tuple[Sighting, ...] = ()
    retry_in_s: float | None = None
    after: asyncio.Event | None = None
    cost: float = 0.0
    asked: int = 0

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand, limit
        self.asked += 1
        if self.after is not None:
            await self.after.wait()
        return PeopleAnswer(
            source=self.name, ended=self.ended, people=self.people, retry_in_s=self.retry_in_s
        )


async def handle(stage: Stage, asked: StageInput) -> tuple[AnyFinding, list[AnyFinding]]:
    """Return the result of *stage*, and its progress."""
    progress: list[AnyFinding] = []

    async def report(finding: AnyFinding) -> None:
        progress.append(finding)

    work = Work(lookup="brand-a.1", stage=stage.name, attempt=1, deadline_at=AT, input=asked)
    return await stage.handle(work, report), progress


async def resolve(*sources: Brands) -> AnyFinding:
    stage = build("brand-resolution", brands=sources)
    finding, progress = await handle(stage, ResolutionInput(Query("Acme")))
    assert progress == []
    return finding


async def discover(*sources: People) -> AnyFinding:
    finding, _ = await handle(build("contact-discovery", people=sources), DiscoveryInput(ACME))
    return finding


# Brand resolution.


async def test_a_match_is_reported_with_how_every_source_ended() -> None:
    found = await resolve(
        Brands("a", SourceStatus.USED, (ACME,)), Brands("b", SourceStatus.FAILED)
    )

    assert isinstance(found, Resolved)
    assert (found.status, found.brand and found.brand.name) == ("matched", "Acme")
    assert found.sources == {"a": "used", "b": "failed"}


@pytest.mark.parametrize("away", [SourceStatus.FAILED, SourceStatus.RATE_LIMITED])
async def test_no_match_while_a_source_was_away_is_a_failure(away: SourceStatus) -> None:
    found = await resolve(
        Brands("a", SourceStatus.NO_RESULTS), Brands("b", away, retry_in_s=30)
    )

    assert found == Failed(why="sources-away", retryable=True, retry_in_s=30)


@pytest.mark.parametrize("sources", [(), (Brands("wikidata", SourceStatus.NOT_CONFIGURED),)])
async def test_without_any_brand_source_no_brand_is_said_to_be_unknown(
    sources: tuple[Brands, ...],
) -> None:
    assert await resolve(*sources) == Failed(why="no-brand-source-configured", retryable=False)


# Contact discovery.


async def test_people_of_all_sources_are_reported_in_the_order_of_sources() -> None:
    found = await discover(
        People("a", SourceStatus.USED, (ADA,)), People("b", SourceStatus.USED, (BEN,))
    )

    assert found == Discovered(people=(ADA, BEN), sources={"a": "used", "b": "used"})


async def test_people_are_reported_as_they_are_found() -> None:
    slow = asyncio.Event()

    async def report(finding: AnyFinding) -> None:
        assert isinstance(finding, PeopleSeen)
        reported.extend(person.full_name for person in finding.people)
        slow.set()

    reported: list[str] = []
    sources = (
        People("a", SourceStatus.USED, (ADA,), after=slow),
        People("b", SourceStatus.USED, (BEN,)),
    )
    asked = DiscoveryInput(ACME)
    work = Work(
        lookup="brand-a.1", stage="contact-discovery", attempt=1, deadline_at=AT, input=asked
    )
    async with asyncio.timeout(5):
        found = await build("contact-discovery", people=sources).handle(work, report)

    assert reported == ["Ben Ode", "Ada Kern"]
    assert isinstance(found, Discovered)
    assert found.people == (ADA, BEN)


@dataclass
class Local(People):
    local: bool = True


async def test_what_is_here_is_asked_first_and_the_others_after_it() -> None:
    away = People("a", SourceStatus.USED, (ADA,))
    asked_before: list[int] = []

    class Own(Local):
        async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
            asked_before.append(away.asked)
            return await super().find(brand, limit=limit)

    found = await discover(away, Own("own", SourceStatus.USED, (BEN,)))

    assert asked_before == [0]
    expected = {"own": "used", "a": "used"}
    assert found == Discovered(people=(BEN, ADA), sources=expected)


async def test_an_empty_local_source_is_reported_only_if_it_is_the_only_one() -> None:
    empty = Local("own", SourceStatus.NOT_CONFIGURED)

    beside = await discover(empty, People("a", SourceStatus.NO_RESULTS))
    alone = await discover(empty)

    assert beside == Discovered(people=(), sources={"a": "no_results"})
    assert isinstance(alone, Failed)
    assert not alone.retryable


async def test_people_found_while_a_source_was_away_are_reported_as_not_all() -> None:
    found = await discover(
        People("a", SourceStatus.USED, (ADA,)), People("b", SourceStatus.RATE_LIMITED)
    )

    assert isinstance(found, Discovered)
    assert not found.conclusive


async def test_no_person_found_while_a_source_was_away_is_a_failure() -> None:
    found = await discover(
        People("a", SourceStatus.NO_RESULTS),
        People("b", SourceStatus.FAILED, retry_in_s=5),
        People("c", SourceStatus.RATE_LIMITED, retry_in_s=60),
    )

    assert found == Failed(why="sources-away", retryable=True, retry_in_s=60)


@pytest.mark.parametrize("sources", [(), (People("a", SourceStatus.NOT_CONFIGURED),)])
async def test_without_any_source_configured_trying_again_is_no_use(
    sources: tuple[People, ...],
) -> None:
    found = await discover(*sources)

    assert found == Failed(why="no-people-source-configured", retryable=False)


def leads(count: int) -> tuple[Sighting, ...]:
    return tuple(
        Sighting(
            full_name=f"Ada Roe{chr(97 + n)}",
            headline="Head of Influencer Marketing",
            company="Acme",
            source="free",
        )
        for n in range(count)
    )


async def test_a_source_that_charges_is_asked_only_while_too_few_are_found() -> None:
    free = People("free", SourceStatus.USED, leads(6))
    dear = People("dear", SourceStatus.USED, cost=1.4)
    cheap = People("cheap", SourceStatus.USED, leads(9)[4:], cost=0.02)

    found = await discover(dear, free, cheap)

    assert isinstance(found, Discovered)
    assert (free.asked, cheap.asked, dear.asked) == (1, 1, 1), "nine are not ten"
    cheap.people = leads(10)[4:]
    found = await discover(dear, free, cheap)
    assert isinstance(found, Discovered)
    assert (cheap.asked, dear.asked) == (2, 1)
    assert found.sources == {"free": "used", "cheap": "used", "dear": "not_needed"}
    assert (found.conclusive, found.causes) == (True, {})


async def test_a_source_that_charges_for_each_person_is_given_those_known() -> None:
    heard: list[list[str]] = []

    class ByRecord(People):
        async def find_new(
            self, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
        ) -> PeopleAnswer:
            heard.append([person.full_name for person in known])
            return await self.find(brand, limit=limit)

    seen = leads(5)
    by_record = ByRecord("dear", SourceStatus.USED, seen, cost=1.4)

    await discover(
        People("free", SourceStatus.USED, seen[:2]),
        People("cheap", SourceStatus.USED, seen[2:3], cost=0.02),
        by_record,
        Local("own", SourceStatus.USED, seen[4:]),  # of which nobody outside hears
    )

    assert heard == [[person.full_name for person in seen[:3]]]


async def test_people_who_would_not_be_shown_are_not_counted() -> None:
    elsewhere = leads(12)[0]
    others = [msgspec.structs.replace(one, company="Globex") for one in leads(12)] + [
        msgspec.structs.replace(one, headline="Accountant") for one in leads(12)
    ]
    paid = People("paid", SourceStatus.USED, (elsewhere,), cost=0.02)

    await discover(People("free", SourceStatus.USED, tuple(others)), paid)

    assert paid.asked == 1


# What only the operator can mend.


def test_settings_that_leave_no_source_to_ask_are_named_before_any_is_asked(
    here: Here, tmp_path: Path
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text("brand_sources = []\npeople_sources = []\nverifiers = []")

    (used,) = here("config", "check", "--json", f"--config={file}").rows

    assert [advice.partition(": ")[0] for advice in used["advice"]] == [
        "brand_sources",
        "people_sources",
        "verifiers",
    ]
    assert all("none is in use" in advice for advice in used["advice"])


async def test_a_searxng_without_json_is_no_passing_trouble_and_is_named() -> None:
    refusing = pages({"/search": (403, {}, b"")})
    async with serve(refusing) as web, set_up({"CS_SEARXNG_URL": web.url}) as tools:
        stage = stage_of("contact-discovery", tools)
        with capture_logs() as logs:
            first, _ = await handle(stage, DiscoveryInput(ACME))
            again, _ = await handle(stage, DiscoveryInput(ACME))
        reasons = dict(tools.misconfiguration.reasons)

    assert isinstance(first, Failed)
    assert first == again
    assert (first.why, first.retryable) == ("sources-refuse", False)
    assert "add json to search.formats" in first.causes["searxng"]
    assert reasons == {"sources.searxng": first.causes["searxng"]}
    assert not tools.misconfiguration.blocks, "what was found before can still be read"
    met = [line["name"] for line in logs if line["event"] == "misconfigured"]
    assert met == ["sources.searxng"], "once, not for each search"
