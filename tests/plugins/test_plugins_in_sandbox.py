"""Plug-ins of others run next to a made-up world as they do in the real one."""

from pathlib import Path

import pytest

from harness.served import served
from plugins.installed import Install, notices, opened

#: Names one person at every brand whose web site answers.
TEAM = """
import msgspec
from cs.domain.contact import Sighting
from cs.outside.port import Forbidden, Unreachable
from cs.plugins.declared_settings import takes
from cs.plugins.sources import SourceStatus, PeopleAnswer


class TeamSettings(msgspec.Struct, frozen=True, kw_only=True):
    person: str = ""


class Team:
    name = "team"

    def __init__(self, fetcher, person):
        self._fetcher, self._person = fetcher, person

    async def find(self, brand, *, limit):
        try:
            page = await self._fetcher.get(f"https://{brand.domain}/")
        except (Forbidden, Unreachable) as error:
            return PeopleAnswer(source=self.name, ended=SourceStatus.FAILED, why=str(error))
        assert page.status == 200, page
        found = Sighting(
            full_name=self._person,
            headline=f"Head of Influencer Marketing at {brand.name}",
            company=brand.name,
            linkedin_url="https://www.linkedin.com/in/zoe-quill",
            source=self.name,
        )
        return PeopleAnswer(source=self.name, ended=SourceStatus.USED, people=(found,))


@takes(TeamSettings)
def from_context(context):
    return Team(context.guarded, msgspec.convert(context.settings, TeamSettings).person)
"""
#: Believes in the addresses that begin as its setting says.
ORACLE = """
from contextlib import asynccontextmanager

import msgspec
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.plugins.declared_settings import takes


class OracleSettings(msgspec.Struct, frozen=True, kw_only=True):
    believes: str = ""


class Check:
    learned = DomainFacts()

    def __init__(self, believes, now):
        self._believes, self._now = believes, now

    async def check(self, address):
        good = bool(self._believes) and address.startswith(self._believes)
        verdict = Verdict.DELIVERABLE if good else Verdict.UNDELIVERABLE
        return Evidence(
            address=address, verifier="oracle", verdict=verdict, reason="said", at=self._now()
        )


class Oracle:
    name = "oracle"
    cost = 0.001

    def __init__(self, believes, now):
        self._believes, self._now = believes, now

    @asynccontextmanager
    async def open(self, mail_domain, known):
        yield Check(self._believes, self._now)


@takes(OracleSettings)
def from_context(context):
    return Oracle(msgspec.convert(context.settings, OracleSettings).believes, context.now)
"""
GIVEN = {
    "CS_VERIFIERS": "oracle",
    "CS_SOURCES__TEAM__PERSON": "Zoe Quill",
    "CS_VERIFIERS__ORACLE__BELIEVES": "zoe",
    # The made-up world stands in for these.
    "CS_SOURCES__WIKIDATA__URL": "https://real.example/w/api.php",
    "CS_VERIFIERS__SMTP__HELO": "real.example",
}


FILES = {"acme_plugs/team.py": TEAM, "acme_plugs/oracle.py": ORACLE}
POINTS = {
    "cs.people_sources": {"team": "acme_plugs.team:from_context"},
    "cs.verifiers": {"oracle": "acme_plugs.oracle:from_context"},
}


#: Never answers, and does not end when it is cancelled.
STUBBORN = """
import asyncio


class Stubborn:
    name = "stubborn"
    timeout_s = 1.0

    async def find(self, brand, *, limit):
        print("asked")
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                print("goes on")


def from_context(context):
    return Stubborn()
"""


@pytest.mark.slow  # a service in a process of its own
def test_a_sandbox_asks_plug_ins_and_one_that_ignores_its_cancellation_holds_up_nothing(
    install: Install, tmp_path: Path
) -> None:
    stubborn = {"stubborn": "acme_plugs.stubborn:from_context"}
    install(
        {**FILES, "acme_plugs/stubborn.py": STUBBORN},
        {**POINTS, "cs.people_sources": POINTS["cs.people_sources"] | stubborn},
    )
    with (
        served(tmp_path / "data", PYTHONPATH=str(tmp_path / "site"), **GIVEN) as service,
        service.client(service.new_key()) as client,
    ):
        found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        assert service.stop(timeout_s=15) == 0

    assert "wherever that leads: oracle, stubborn, team\n" in service.output
    assert "plugin_left_behind" in service.output
    mailboxes = {c["full_name"]: (c["email"], c["email_source"]) for c in found["contacts"]}
    assert mailboxes["Zoe Quill"] == ("zoe.quill@veltrana.test", "oracle")
    assert len(mailboxes) > 1, "those that the world knows are found as well"


async def test_sources_of_the_real_world_are_left_out_of_a_sandbox(install: Install) -> None:
    install(FILES, POINTS)
    async with opened({}, "sandbox") as tools:
        assert tools.names == ["website", "wikidata", "searxng", "team", "smtp", "oracle"]
    for named, asked in {
        "directory,website": ["website"],
        "directory": ["website", "wikidata"],
    }.items():
        async with opened({"CS_BRAND_SOURCES": named}, "sandbox") as tools:
            assert [source.name for source in tools.brand_sources] == asked


def test_the_start_says_which_do_not_run_and_why() -> None:
    environment = {
        "CS_BRAND_SOURCES": "directory,wikidata",
        "CS_SOURCES__WIKIDATA__URL": "https://real.example/w/api.php",
        "CS_VERIFIERS__SMTP__HELO": "real.example",
    }
    asked = ["wikidata", "searxng", "smtp"]

    assert notices(environment, asked) == [
        "not asked here, as it tells of the real world: directory",
        "settings that the made-up world replaces: sources.wikidata, verifiers.smtp",
    ]
    assert notices({}, asked) == []


async def test_what_would_be_charged_is_left_out_unless_the_world_plays_it() -> None:
    named = {
        "CS_SOURCES__HUNTER__KEY": "ours",
        "CS_SOURCES__HUNTER__USD_PER_DAY": "3",
        "CS_VERIFIERS__ZEROBOUNCE__KEY": "ours",
        "CS_VERIFIER_ORDER": "zerobounce,smtp",
    }
    sources = {"apollo", "brave", "hunter", "pdl", "serper"}
    verifiers = "hunter kickbox millionverifier neverbounce reacher smtp zerobounce"

    async with opened(named, "sandbox") as tools:
        assert {"hunter", "zerobounce"}.isdisjoint(tools.names)
    async with opened(named, "sandbox", providers_url="http://127.0.0.1:9") as tools:
        assert {source.name for source in tools.brand_sources} > {"pdl", "serper"}
        assert {source.name for source in tools.people_sources} > sources
        assert {each.name for each in tools.verifiers} == {*verifiers.split()}
        (hunter,) = (each for each in tools.people_sources if each.name == "hunter")
        assert (await hunter.check()).usd_per_day == 3  # type: ignore[attr-defined]
    left_out = "not asked here, as it would be charged: hunter, zerobounce"
    replaced = "settings that the made-up world replaces: sources.hunter, verifiers.zerobounce"
    assert notices(named, ["smtp"]) == [left_out]
    assert notices(named, ["smtp"], providers=True) == [replaced]
    capped = {"CS_SOURCES__HUNTER__USD_PER_DAY": "3"}
    assert notices(capped, ["smtp"], providers=True) == [], "caps count"
