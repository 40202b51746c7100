"""The worked examples of the documents: pasted, installed, set up, asked."""

import re
from pathlib import Path

import pytest

from cli.command import Here
from cs.domain.contact import Query
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.plugins.new_package import PackageKind, new_package
from cs.plugins.sources import SourceStatus
from outside.loopback_web import pages, serve
from plugins.installed import DOCS, Install, documented, install_written, opened


async def test_a_written_source_asks_with_what_it_was_given(install: Install) -> None:
    install_written(install, PackageKind.BRAND_SOURCE, "shop")

    found = b'{"brands": [{"name": "Acme", "domain": "acme.example"}]}'
    async with serve(pages({"/brands": found})) as shop:
        environment = {
            "CS_BRAND_SOURCES": "shop",
            "CS_SOURCES__SHOP__URL": shop.url,
            "CS_SOURCES__SHOP__KEY": "s3cret",
        }
        async with opened(environment) as tools:
            (source,) = tools.brand_sources
            answer = await source.find(Query(brand="Acme"), None)

    assert answer.ended is SourceStatus.USED
    assert [match.facts.domain for match in answer.matches] == ["acme.example"]
    assert shop.asked[0].path == "/brands?name=Acme&domain="
    assert shop.asked[0].headers["x-api-key"] == "s3cret"


async def test_the_documented_verifier_asks_with_what_it_was_given(install: Install) -> None:
    files, points, _ = documented("verifiers.md")
    install(files, points)

    async with serve(pages({"/v1/check": b'{"result": "valid"}'})) as provider:
        environment = {
            "CS_VERIFIERS": "oracle",
            "CS_VERIFIERS__ORACLE__URL": f"{provider.url}/v1",
            "CS_VERIFIERS__ORACLE__KEY": "s3cret",
            "CS_VERIFIERS__ORACLE__USD_PER_CALL": "0.25",
        }
        async with opened(environment) as tools:
            (verifier,) = tools.verifiers
            async with verifier.open("acme.example", DomainFacts()) as check:
                evidence = await check.check("ada@acme.example")

    assert (evidence.verdict, evidence.verifier) == (Verdict.DELIVERABLE, "oracle")
    assert verifier.cost == 0.25
    assert provider.asked[0].path == "/v1/check?address=ada%40acme.example"
    assert provider.asked[0].headers["x-api-key"] == "s3cret"


def test_a_documented_verifier_without_its_settings_is_left_out(
    here: Here, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, points, settings = documented("verifiers.md")
    install(files, points)
    file = tmp_path / "cs.toml"
    file.write_text(settings)

    assert here("config", "check", "--json").rows[0]["verifiers"] == ["smtp"]
    monkeypatch.setenv("CS_VERIFIERS__ORACLE__KEY", "s3cret")
    with_it = here("config", "check", "--json", f"--config={file}").rows[0]
    assert with_it["verifiers"] == ["smtp", "oracle"], "the cheapest first"


def test_the_people_source_of_the_page_is_what_the_command_writes() -> None:
    page = (DOCS / "sources.md").read_text()
    section = page.partition("### A people source, from end to end\n")[2].partition("\n### ")[0]
    _, files = new_package(PackageKind.PEOPLE_SOURCE, "crm")

    shown = re.findall(r"```(?:python|toml)\n(.*?)```", section, re.DOTALL)

    assert len(shown) == 1
    for block in shown:
        assert any(block in text for text in files.values()), block
