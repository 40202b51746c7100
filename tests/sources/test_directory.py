"""The bundled directory: what it knows, what it leaves open, and what it never does."""

import runpy
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cs.domain.contact import BrandFacts, Query
from cs.domain.names.brand_names import canonical_domain
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.sources import BrandAnswer, BrandMatch, BrandSource, SourceStatus
from sources.indexes import asked as ask
from sources.indexes import rebuilt, well_known

Line = dict[str, Any]
Write = Callable[..., BrandSource]

HOTELS: tuple[Line, ...] = (
    {"n": "Canopy", "d": "hilton.com", "q": "Q1"},
    {"n": "Hilton", "d": "hilton.com", "q": "Q2", "li": "hilton"},
)
GAP: tuple[Line, ...] = (
    {
        "n": "Gap",
        "d": "gapinc.com",
        "a": ["the gap", "Gap Kids"],
        "x": ["gap.co.jp", "gap.com"],
        "ig": "gap",
        "tt": "gap",
        "li": "gap-inc-",
        "q": "Q420822",
    },
    {"n": "Old Navy", "d": "oldnavy.com", "x": ["gap.com"], "p": "Gap", "q": "Q2735242"},
)
DALTONS: tuple[Line, ...] = (
    {"n": "Dalton", "d": "dalton.com"},
    {"n": "Dalton", "d": "daltongalil.com"},
    {"n": "Dalton Faucet", "d": "daltonfaucet.com"},
)


@pytest.fixture(name="holding")
def _holding(tmp_path: Path) -> Write:
    def write(*lines: Line) -> BrandSource:
        return well_known(tmp_path / "brands.sqlite", *(_brand(**line) for line in lines))

    return write


def _brand(n: str, q: str | None = None, **line: Any) -> Line:
    pages = {"ig": "instagram.com/", "tt": "tiktok.com/@", "li": "linkedin.com/company/"}
    ig, tt, li = (
        f"https://www.{at}{line[page]}" if page in line else None for page, at in pages.items()
    )
    return {
        "key": q or f"{n}|{line.get('d', '')}",
        "name": n,
        "domain": line.get("d"),
        "linkedin": li,
        "instagram": ig,
        "tiktok": tt,
        "parent": line.get("p"),
        "aliases": tuple(line.get("a", ())),
        "other_domains": tuple(line.get("x", ())),
    }


class TestBundledDirectory(BrandSourceContract):
    @pytest.fixture
    def case(self, holding: Write, tmp_path: Path) -> BrandSourceCase:
        damaged = well_known(text := tmp_path / "text.sqlite")
        text.write_bytes(b"no index" * 99)
        missing = well_known(gone := tmp_path / "gone.sqlite")
        gone.unlink()
        return BrandSourceCase(
            source=holding(*GAP),
            known=Query(brand="Gap"),
            unknown=Query(brand="Nobody"),
            broken={"damaged": damaged, "missing": missing},
        )


def told(answer: BrandAnswer) -> list[tuple[str, str | None, float]]:
    return [(m.facts.name, m.facts.domain, round(m.score, 3)) for m in answer.matches]


async def test_a_name_gives_all_that_is_known(holding: Write) -> None:
    answer = await ask(holding(*GAP), "GAP")

    facts = BrandFacts(
        name="Gap",
        domain="gapinc.com",
        linkedin_company_url="https://www.linkedin.com/company/gap-inc-",
        instagram="https://www.instagram.com/gap",
        tiktok="https://www.tiktok.com/@gap",
        aliases=("the gap", "Gap Kids"),
        mail_domains=("gapinc.com", "gap.com", "gap.co.jp"),
    )
    assert answer == BrandAnswer(
        source="directory",
        ended=SourceStatus.USED,
        matches=(BrandMatch(facts=facts, score=0.97, key="Q420822"),),
    )


async def test_the_looser_the_form_the_lower_the_score(holding: Write) -> None:
    known = holding(
        {"n": "Marimekko", "d": "marimekko.com", "q": "Q100"},
        {"n": "Marimokke", "d": "marimokke.example"},
    )
    asked = ["marimekko", "Mari-Mekko", "Marimekko Stores", "Marimekko UK", "Marimeko"]

    answers = [await ask(known, brand) for brand in asked]
    scores = [match.score for answer in answers for match in answer.matches]

    assert {m.facts.domain for answer in answers for m in answer.matches} == {"marimekko.com"}
    assert len(scores) == len(asked)
    assert scores == sorted(scores, reverse=True)
    assert 0.7 < scores[-1] < scores[0] < 1.0


async def test_brands_of_a_domain_score_by_its_owner(holding: Write) -> None:
    directory = holding(*GAP, *HOTELS, *DALTONS, {"n": "Tommy Hilfiger", "d": "tommy.com"})
    gap, navy = ("Gap", "gapinc.com"), ("Old Navy", "oldnavy.com")
    for query, expected in (
        # A domain is its namesake's before its users', and that of a brand called so.
        (
            Query(None, "hilton.com"),
            [("Hilton", "hilton.com", 1.0), ("Canopy", "hilton.com", 0.5)],
        ),
        (Query(None, "gap.com"), [(*gap, 1.0), (*navy, 0.5)]),
        (Query(None, "tommy.com"), [("Tommy Hilfiger", "tommy.com", 0.9)]),
        # Next to it a name finds the brand of its owner, and one that is known elsewhere.
        (Query("Old Navy", "gap.com"), [(*gap, 1.0), (*navy, 1.0)]),
        (
            Query("Dalton Faucet", "gap.com"),
            [(*gap, 1.0), ("Dalton Faucet", "daltonfaucet.com", 0.97), (*navy, 0.5)],
        ),
        (Query(None, "gap.de"), []),
    ):
        assert told(await directory.find(query, None)) == expected
    namesakes = told(await ask(directory, "Dalton"))
    known = BrandFacts(name="Dalton", domain="daltongalil.com")
    assert [domain for _, domain, _ in namesakes] == ["dalton.com", "daltongalil.com"]
    assert sum(score for *_, score in namesakes) == pytest.approx(0.97, abs=0.002)
    assert told(await directory.find(Query("Dalton"), known))[0][1:] == ("daltongalil.com", 1.0)
    (_, by_owner) = (await ask(directory, "Old Navy", "gap.com")).matches
    assert by_owner.facts.mail_domains == ("oldnavy.com", "gap.com", "gapinc.com")


async def test_a_domain_that_only_one_brand_names_is_its_own_where_it_is_asked_for(
    holding: Write,
) -> None:
    directory = holding(
        {
            "n": "Motel 6",
            "d": "motel6.com",
            "x": ["sleepers.ca", "motel6.ca", "barrow.com", "uk.com", "roads.gov.au"],
        },
        {"n": "Barrow", "d": "barrow-bank.com"},
        {"n": "Studio 6", "d": "g6.com", "x": ["lodging.com"]},
    )

    found = [
        told(await ask(directory, domain=host))
        for host in ("sleepers.ca", "barrow.com", "uk.com", "roads.gov.au", "lodging.com")
    ]
    by_name = (await ask(directory, brand="Motel 6")).matches[0]

    motel, in_doubt = ("Motel 6", "motel6.com"), ("Studio 6", "g6.com")
    assert found == [[(*motel, 0.8)], *[[(*motel, 0.5)]] * 3, [(*in_doubt, 0.5)]]
    # Not asked for it stays out: an address there might be a stranger's.
    assert "sleepers.ca" not in by_name.facts.mail_domains


async def test_a_country_s_suffix_behind_a_telling_name_is_the_brand_s(holding: Write) -> None:
    directory = holding(
        {"n": "Sephora", "d": "sephora.com"},
        {"n": "Monsoon", "d": "monsoon.co.uk"},
        {"n": "Monsoon Bar", "d": "monsoon.bar"},
    )

    found = [
        told(await ask(directory, domain=host))
        for host in ("sephora.at", "www2.sephora.co.at", "sephora.shop", "monsoon.at")
    ]

    sister = [("Sephora", "sephora.com", 0.85)]
    assert found == [sister, sister, [], []]
    named = [m.facts.domain for m in (await ask(directory, "Monsoon", "monsoon.at")).matches]
    assert named == ["monsoon.co.uk"]


async def test_a_parent_is_reported_by_the_line_or_by_the_shared_site(holding: Write) -> None:
    directory = holding(*GAP, *HOTELS)

    parents = [
        (await ask(directory, brand)).matches[0].facts.parent_company
        for brand in ("Old Navy", "Canopy", "Hilton", "Gap")
    ]

    assert parents == ["Gap", "Hilton", None, None]


async def test_a_short_alias_counts_only_where_the_site_is_called_so(holding: Write) -> None:
    directory = holding(
        {"n": "Custard Insurance Adjusters", "d": "custard.com", "a": ["CIA"]},
        {"n": "Saint Laurent", "d": "ysl.com", "a": ["YSL"]},
    )

    assert (await ask(directory, "CIA")).matches == ()
    assert told(await ask(directory, "ysl")) == [("Saint Laurent", "ysl.com", 0.97)]


@pytest.mark.slow
def test_the_bundled_file_is_whole_canonical_and_as_the_rules_make_it(tmp_path: Path) -> None:
    made = tmp_path / "brands.sqlite"
    bundled_file, brands = rebuilt(made)

    build = runpy.run_path(str(Path(__file__).parents[2] / "dev" / "build_brands.py"))
    assert build["with_well_known"](brands) == brands, "run dev/build_brands.py"
    assert bundled_file.stat().st_size < 5 * 2**20
    domains = {domain for brand in brands for domain in brand.domains}
    assert len(brands) == 15_610
    assert all(canonical_domain(domain) == domain for domain in domains)
    assert not {"bank.in", "com.ru"} & domains
    with (
        closing(sqlite3.connect(made)) as new,
        closing(sqlite3.connect(bundled_file)) as bundled,
    ):
        for table in ("name", "site", "large"):
            every = f"SELECT * FROM {table} ORDER BY {'1' if table == 'large' else '1, 2, 3'}"
            is_new = new.execute(every).fetchall() == bundled.execute(every).fetchall()
            assert is_new, "run dev/build_brands.py"
