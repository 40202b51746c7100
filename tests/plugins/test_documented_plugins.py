"""The worked examples of the documents: pasted, installed, set up, asked."""

import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import cs.plugins.contracts
from cli.command import Here
from cs.assembly.plugins import open_plugins
from cs.domain.contact import Query
from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.plugins.new_package import PackageKind, new_package
from cs.plugins.sources import SourceStatus
from cs.settings import load
from outside.loopback_web import pages, serve
from plugins.installed import DOCS, Install, documented


def test_the_documented_source_is_checked_and_shown_without_its_secret(
    here: Here, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, points, settings = documented("sources.md")
    install(files, points)
    file = tmp_path / "cs.toml"
    file.write_text(settings)
    monkeypatch.setenv("CS_SOURCES__SHOP__API_KEY", "s3cret")

    told = here("config", "show", f"--config={file}").out
    shown = here("config", "show", "--json", f"--config={file}").rows[0]
    used = here("config", "check", "--json", f"--config={file}").rows[0]

    url = f"sources.shop.url    https://api.shop.example  # settings file {file}"
    assert f"\n{url}\n" in told
    variable = "environment variable CS_SOURCES__SHOP__API_KEY"
    assert f"\nsources.shop.api_key ********  # {variable}\n" in told
    assert "s3cret" not in told
    assert (shown["sources.shop.results"], shown["sources.shop.api_key"]) == (10, "********")
    assert used["brand_sources"] == ["directory", "imported", "shop", "website", "wikidata"]


async def test_the_documented_source_asks_with_what_it_was_given(install: Install) -> None:
    files, points, _ = documented("sources.md")
    install(files, points)

    found = b'[{"name": "Acme", "domain": "acme.example"}]'
    async with serve(pages({"/brands": found})) as shop:
        settings = load(
            environment={
                "CS_BRAND_SOURCES": "shop",
                "CS_SOURCES__SHOP__URL": shop.url,
                "CS_SOURCES__SHOP__API_KEY": "s3cret",
                "CS_SOURCES__SHOP__RESULTS": "7",
            }
        )
        async with open_plugins(settings) as tools:
            (source,) = tools.brand_sources
            answer = await source.find(Query(brand="Acme"), None)

    assert answer.ended is SourceStatus.USED
    assert [match.facts.domain for match in answer.matches] == ["acme.example"]
    assert shop.asked[0].path == "/brands?q=Acme&limit=7"
    assert shop.asked[0].headers["authorization"] == "bearer s3cret"


async def test_the_documented_verifier_asks_with_what_it_was_given(install: Install) -> None:
    files, points, _ = documented("verifiers.md")
    install(files, points)

    async with serve(pages({"/v1/check": b'{"result": "valid"}'})) as provider:
        settings = load(
            environment={
                "CS_VERIFIERS": "oracle",
                "CS_VERIFIERS__ORACLE__URL": f"{provider.url}/v1",
                "CS_VERIFIERS__ORACLE__KEY": "s3cret",
                "CS_VERIFIERS__ORACLE__USD_PER_CALL": "0.25",
            }
        )
        async with open_plugins(settings) as tools:
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


async def test_a_source_that_raises_is_told_as_failed_through_the_whole_set_up(
    install: Install,
) -> None:
    files, points, _ = documented("sources.md")
    raising = {
        name: text.replace(
            "        if self._settings.url is None:",
            "        raise SystemExit(f'bad key {self._settings.api_key}')\n"
            "        if self._settings.url is None:",
        )
        for name, text in files.items()
    }
    install(raising, points)
    settings = load(
        environment={"CS_BRAND_SOURCES": "shop", "CS_SOURCES__SHOP__API_KEY": "s3cret"}
    )
    async with open_plugins(settings) as tools:
        (source,) = tools.brand_sources
        answer = await source.find(Query(brand="Acme"), None)

    assert answer.ended is SourceStatus.FAILED
    assert answer.why == "SystemExit: bad key ********"


PAGES = ("sources.md", "verifiers.md")
#: As pytest-asyncio is where nobody has set anything, but for its wish to be told of that.
STRICT = ("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")


def printed_by_tests(files: Mapping[str, str], folder: Path) -> str:
    """Return what pytest prints of the tests in *files*, run as their author runs them."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", *STRICT, "tests")
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_documented_tests_pass_with_no_setting_of_pytest(page: str, tmp_path: Path) -> None:
    files, _, _ = documented(page)

    printed = printed_by_tests(files, tmp_path)

    assert re.search(r"^\d+ passed in ", printed, re.MULTILINE), printed


@pytest.mark.slow
def test_whoever_breaks_the_contract_reads_which_value_was_wrong(tmp_path: Path) -> None:
    """Assertions of the kits are rewritten, as those of a test module are."""
    files, _, _ = documented("sources.md")
    shop = files["acme_sources/shop.py"]
    forgetful = shop.replace("mail_domains=(one.domain,)", "")
    assert forgetful != shop

    printed = printed_by_tests(files | {"acme_sources/shop.py": forgetful}, tmp_path)

    assert "1 failed" in printed
    assert "() == ('acme.example',)" in printed


@pytest.mark.parametrize("page", PAGES)
def test_documented_plugins_import_of_the_service_only_what_is_public(page: str) -> None:
    files, _, _ = documented(page)
    kits = Path(cs.plugins.contracts.__file__).parent.glob("[!_]*.py")
    public = {f"cs.plugins.{each}" for each in ("sources", "verifiers", "hosted")} | {
        f"cs.plugins.contracts.{kit.stem}" for kit in kits
    }

    imported = {
        node.module or ""
        for content in files.values()
        for node in ast.walk(ast.parse(content))
        if isinstance(node, ast.ImportFrom)
    }

    of_the_service = {module for module in imported if module.partition(".")[0] == "cs"}
    assert of_the_service
    assert of_the_service <= public


def test_the_people_source_of_the_page_is_what_the_command_writes() -> None:
    page = (DOCS / "sources.md").read_text()
    section = page.partition("### A people source, from end to end\n")[2].partition("\n### ")[0]
    _, files = new_package(PackageKind.PEOPLE_SOURCE, "crm")

    shown = re.findall(r"```(?:python|toml)\n(.*?)```", section, re.DOTALL)

    assert len(shown) == 5
    for block in shown:
        assert any(block in text for text in files.values()), block
