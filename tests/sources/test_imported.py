"""Imported companies: files as they are, an index that is refreshed, and what it answers."""

import asyncio
import gzip
from pathlib import Path

import pytest

from cs.domain.contact import Query
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.sources import SourceStatus
from cs.sources.brand.brand_index import BrandIndex, IndexChanges, IndexedBrand
from cs.sources.brand.imported import COMPANIES, company_of, imported
from cs.sources.tables.table_file import FIELDS, TableFile, columns_of

#: The free company dataset of People Data Labs, as it is and as it was in 2019.
PDL = """country,founded,id,industry,linkedin_url,locality,name,region,size,website
sweden,1943,p1,home,linkedin.com/company/acme-home,malmo,acme home,skane,10001+,acmehome.com
germany,1990,p2,retail,,berlin,Müller & Söhne GmbH,berlin,51-200,https://www.mueller.example/de
,,p3,,,,,,1-10,nobody.example
france,,p4,,,,Bad Site,,1-10,not a site
"""
PDL_2019 = (
    ",name,domain,year founded,industry,size range,locality,country,linkedin url,"
    "current employee estimate,total employee estimate\n"
    "5872184,ibm,ibm.com,1911.0,it,10001+,new york,united states,linkedin.com/company/ibm,"
    "274047,716906\n"
)
#: The query in docs/sources.md for Wikidata gives these columns.
WIKIDATA = (
    "item,itemLabel,website,instagram,tiktok,parentLabel\n"
    "http://www.wikidata.org/entity/Q1,Acme Home,https://acmehome.com/,acmehome,acme.home,"
    "Acme AB\n"
)


def test_columns_are_known_by_their_names(tmp_path: Path) -> None:
    found = {}
    for name, text in {"pdl": PDL, "2019": PDL_2019, "wikidata": WIKIDATA}.items():
        file = tmp_path / f"{name}.csv.gz"
        file.write_bytes(gzip.compress(text.encode()))
        rows = list(TableFile(file, COMPANIES).read(company_of))
        found[name] = [row for _, row in rows if isinstance(row, IndexedBrand)]
        assert [number for number, row in rows if isinstance(row, str)] == (
            [4, 5] if name == "pdl" else []
        )

    page = "https://www.linkedin.com/company/"
    assert found == {
        "pdl": [
            IndexedBrand(
                "p1", "acme home", "acmehome.com", "sweden", 10001, f"{page}acme-home"
            ),
            IndexedBrand("p2", "Müller & Söhne GmbH", "mueller.example", "germany", 51),
        ],
        "2019": [
            IndexedBrand("ibm.com", "ibm", "ibm.com", "united states", 716906, f"{page}ibm"),
        ],
        "wikidata": [
            IndexedBrand(
                "http://www.wikidata.org/entity/Q1",
                "Acme Home",
                "acmehome.com",
                instagram="https://www.instagram.com/acmehome",
                tiktok="https://www.tiktok.com/@acme.home",
                parent="Acme AB",
            )
        ],
    }
    assert columns_of(["\ufeffLEI", "Entity.LegalName"], FIELDS["companies"]) == {
        "id": "\ufeffLEI",
        "name": "Entity.LegalName",
    }


BIG = IndexedBrand(
    "1",
    "Acme Home",
    "acmehome.com",
    size=10_001,
    linkedin="https://www.linkedin.com/company/acme",
)
SMALL = IndexedBrand("2", "Acme Home Inc.", "acmehome.example", size=11)


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    file = tmp_path / "brands.sqlite"
    twins = [IndexedBrand(f"t{n}", "Twin Ltd", f"twin{n}.example", size=51) for n in range(2)]
    with BrandIndex(file, writing=True) as index:
        index.put([BIG, SMALL, *twins])
    return file


def test_a_newer_edition_replaces_what_it_has_and_a_dry_run_nothing(file: Path) -> None:
    renamed = IndexedBrand("1", "Acme Living", "acmeliving.com", size=10_001)
    new = IndexedBrand("9", "Nova", "nova.example")

    with BrandIndex(file, writing=True) as index:
        dry = index.put([renamed, SMALL, new], dry_run=True)
        assert index.with_form(["acmeliving"]) == []
        assert index.put([renamed, SMALL, new]) == dry == IndexChanges(1, 1, 1)
        assert index.put([renamed, SMALL, new]) == IndexChanges(unchanged=3)
        found = (
            index.with_form(["acmeliving"]),
            index.with_form(["acmehome"]),
            index.at("acmehome.com"),
        )
        assert len(index) == 5

    assert found == ([renamed], [SMALL], [])


class TestImported(BrandSourceContract):
    @pytest.fixture
    def case(self, file: Path, tmp_path: Path) -> BrandSourceCase:
        broken = tmp_path / "broken.sqlite"
        broken.write_bytes(b"no database" * 99)
        return BrandSourceCase(
            source=imported(file),
            known=Query(brand="Acme Home"),
            unknown=Query(brand="Nobody"),
            broken=(imported(broken),),
        )


async def test_a_name_is_found_as_people_write_it_and_the_largest_is_meant(file: Path) -> None:
    source = imported(file)
    asked = {
        "acme home": 1,
        "AcmeHome GmbH": 1,
        "Acme Homes Group": 1,
        "Acmee Home": 1,
        "Acm": 0,
    }

    for brand, sure in asked.items():
        answer = await source.find(Query(brand=brand), None)
        found = [m.facts.domain for m in answer.matches if m.score > 0.7]
        assert found == ["acmehome.com"] * sure, brand
    twins = await source.find(Query(brand="Twin"), None)
    assert [round(m.score, 3) for m in twins.matches] == [0.415, 0.415]


async def test_a_domain_is_found_by_itself_and_below(file: Path) -> None:
    source = imported(file)

    answers = [
        await source.find(Query(domain=host), None)
        for host in ("acmehome.com", "shop.acmehome.com", "acmehome.myshopify.com")
    ]

    names = [[m.facts.name for m in answer.matches] for answer in answers]
    assert names == [["Acme Home"], ["Acme Home"], []]


async def test_nothing_imported_is_not_configured(tmp_path: Path) -> None:
    source = imported(tmp_path / "none.sqlite")

    answer = await source.find(Query(brand="Acme"), None)

    assert answer.ended is SourceStatus.NOT_CONFIGURED
    assert "cs brands import" in (source.missing or "")


async def test_a_refresh_is_seen_by_a_source_that_is_open(file: Path) -> None:
    source = imported(file)
    before = await source.find(Query(brand="Nova"), None)

    def refresh() -> None:
        with BrandIndex(file, writing=True) as index:
            index.put([IndexedBrand("9", "Nova", "nova.example")])

    await asyncio.to_thread(refresh)
    after = await source.find(Query(brand="Nova"), None)

    assert [len(answer.matches) for answer in (before, after)] == [0, 1]
