"""Imported companies: files as they are, an index that is refreshed, and what it answers."""

import asyncio
import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from cs.domain.contact import BrandFacts, Query
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.stand_in import StandIn, source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import SourceStatus
from harness.clients import plugin

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


class Companies:
    """Imports companies into a data folder, and asks the source over them."""

    def __init__(self, here: Here, folder: Path) -> None:
        self._here, self._folder = here, folder
        self.file = folder / "data" / "brands.sqlite"
        self.source = source_over(self.file)

    def read(self, text: str, *options: str) -> dict[str, Any]:
        (file := self._folder / "companies.csv.gz").write_bytes(gzip.compress(text.encode()))
        data = f"--data-dir={self._folder / 'data'}"
        return self._here("brands", "import", str(file), "--json", *options, data).rows[0]

    def find(
        self, brand: str | None = None, domain: str | None = None, surest: float = 0.0
    ) -> list[BrandFacts]:
        """Return who is found with a score above *surest*."""
        answer = asyncio.run(self.source.find(Query(brand, domain), None))
        return [match.facts for match in answer.matches if match.score > surest]


def source_over(file: Path) -> Any:
    context = source_context(StandIn(lambda _: None), file=str(file))
    return plugin(Group.BRAND_SOURCES, "imported", context)


@pytest.fixture
def companies(here: Here, tmp_path: Path) -> Companies:
    return Companies(here, tmp_path)


#: Acme Home of two sizes, and twins.
FILE = """id,name,website,size,linkedin
1,Acme Home,acmehome.com,10001+,linkedin.com/company/acme
2,Acme Home Inc.,acmehome.example,11-50,
t0,Twin Ltd,twin0.example,51-200,
t1,Twin Ltd,twin1.example,51-200,
"""


def test_columns_are_known_by_their_names(companies: Companies) -> None:
    companies.read(WIKIDATA)
    assert companies.find("Acme Home") == [
        BrandFacts(
            name="Acme Home",
            domain="acmehome.com",
            parent_company="Acme AB",
            instagram="https://www.instagram.com/acmehome",
            tiktok="https://www.tiktok.com/@acme.home",
            mail_domains=("acmehome.com",),
        )
    ]
    problems = companies.read(PDL)["problems"]
    assert [line for line, _ in problems] == [4, 5]
    page = "https://www.linkedin.com/company/"
    assert f"{page}acme-home" in {
        each.linkedin_company_url for each in companies.find(domain="acmehome.com")
    }
    (mueller,) = companies.find("Mueller & Soehne")
    assert (mueller.name, mueller.domain) == ("Müller & Söhne GmbH", "mueller.example")
    companies.read(PDL_2019)
    (ibm,) = companies.find("IBM")
    assert (ibm.domain, ibm.linkedin_company_url) == ("ibm.com", f"{page}ibm")
    lei = companies.read("\ufeffLEI,Entity.LegalName\n", "--dry-run")["columns"]
    assert lei == {"id": "LEI", "name": "Entity.LegalName"}


def test_a_newer_edition_replaces_what_it_has_and_a_dry_run_nothing(
    companies: Companies,
) -> None:
    newer = "id,name,website,size\n1,Acme Living,acmeliving.com,10001+\n9,Nova,nova.example,\n"
    companies.read(FILE)
    before = companies.find("Nova"), companies.find("Acme Living")
    dry = companies.read(newer, "--dry-run")
    assert (companies.find("Nova"), companies.find("Acme Living")) == before
    done, again = companies.read(newer), companies.read(newer)

    for counts in (dry, done):
        assert (counts["new"], counts["updated"], counts["unchanged"]) == (1, 1, 0)
    assert again["unchanged"] == 2
    (nova,) = companies.find("Nova")
    assert nova.domain == "nova.example", "seen by a source that is open"
    (living,) = companies.find(domain="acmeliving.com")
    assert living.name == "Acme Living"
    assert companies.find(domain="acmehome.com") == []


class TestImported(BrandSourceContract):
    @pytest.fixture
    def case(self, companies: Companies, tmp_path: Path) -> BrandSourceCase:
        companies.read(FILE)
        broken = tmp_path / "broken.sqlite"
        broken.write_bytes(b"no database" * 99)
        return BrandSourceCase(
            source=companies.source,
            known=Query(brand="Acme Home"),
            unknown=Query(brand="Nobody"),
            broken={"damaged": source_over(broken)},
        )


def test_a_name_is_found_as_people_write_it_and_the_largest_is_meant(
    companies: Companies,
) -> None:
    companies.read(FILE)
    asked = {
        "acme home": 1,
        "AcmeHome GmbH": 1,
        "Acme Homes Group": 1,
        "Acmee Home": 1,
        "Acm": 0,
    }

    for brand, sure in asked.items():
        found = companies.find(brand, surest=0.7)
        assert [each.domain for each in found] == ["acmehome.com"] * sure, brand
    twins = (asyncio.run(companies.source.find(Query("Twin"), None))).matches
    assert [round(match.score, 3) for match in twins] == [0.415, 0.415]


def test_a_domain_is_found_by_itself_and_below(companies: Companies) -> None:
    companies.read(FILE)
    hosts = ("acmehome.com", "shop.acmehome.com", "acmehome.myshopify.com")
    found = [[each.name for each in companies.find(domain=host)] for host in hosts]

    assert found == [["Acme Home"], ["Acme Home"], []]


def test_an_index_written_before_there_was_fame_is_read_and_written(
    companies: Companies,
) -> None:
    companies.read(FILE)
    with closing(sqlite3.connect(companies.file)) as index:
        index.execute("ALTER TABLE company DROP COLUMN fame")

    assert [each.name for each in companies.find(domain="acmehome.com")] == ["Acme Home"]
    assert companies.read("id,name,website\n9,Novara,novara.example\n")["new"] == 1
    assert len(companies.find("Novara")) == len(companies.find(domain="acmehome.com")) == 1


def test_nothing_imported_is_not_configured(companies: Companies) -> None:
    answer = asyncio.run(companies.source.find(Query("Acme"), None))

    assert answer.ended is SourceStatus.NOT_CONFIGURED
    assert "cs brands import" in companies.source.missing
