"""Settings of plug-ins: from tables and variables, checked, and secrets kept."""

from pathlib import Path

import pytest

from cs.settings import BadSettings, load
from plugins.installed import Install, given_to_source, given_to_verifier

MODULE = """
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cs.plugins.declared_settings import SECRET, takes


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    region: Literal["eu", "us"] = "eu"
    languages: tuple[str, ...] = ()
    careful: bool = True
    wait_s: Annotated[float, msgspec.Meta(gt=0, description="of one question")] = 1.0
    list_file: Path | None = None
    pin: Annotated[int, SECRET] = 0
    client_secret: str | None = None


class TakenForPeople(msgspec.Struct, frozen=True, kw_only=True):
    depth: int = 1


@takes(Taken)
def directory(context): ...


@takes(TakenForPeople)
def people(context): ...


def plain(context): ...
"""
POINTS = {
    "cs.brand_sources": {
        "acme-eu": "acme_plugins:directory",
        "plain": "acme_plugins:plain",
        "gone": "acme_nowhere:directory",
    },
    "cs.people_sources": {"acme-eu": "acme_plugins:people"},
}


@pytest.fixture(autouse=True)
def _installed(install: Install) -> None:
    install({"acme_plugins.py": MODULE}, POINTS)


def test_a_table_is_given_in_the_types_of_the_plug_in(tmp_path: Path) -> None:
    file = tmp_path / "cs.toml"
    file.write_text(
        '[sources.acme-eu]\nregion = "us"\nlanguages = ["de", "fr"]\ncareful = false\n'
        'list_file = "~/list.csv"\ndepth = 3'
    )

    given = load(file, environment={}).plugins.sources["acme-eu"]

    assert dict(given) == {
        "region": "us",
        "languages": ("de", "fr"),
        "careful": False,
        "list_file": Path("~/list.csv").expanduser(),
        "depth": 3,  # of the people source of that name
    }


def test_a_variable_is_over_the_table_and_names_are_in_capitals(tmp_path: Path) -> None:
    file = tmp_path / "cs.toml"
    file.write_text('[sources.acme-eu]\nwait_s = 2\nregion = "us"')
    environment = {
        "CS_SOURCES__ACME_EU__WAIT_S": "2.5",
        "CS_SOURCES__ACME_EU__LANGUAGES": "de, fr",
        "CS_SOURCES__ACME_EU__CAREFUL": "false",
        "CS_SOURCES__ACME_EU__CLIENT_SECRET": "",
    }

    given = load(file, environment=environment).plugins.sources["acme-eu"]

    assert dict(given) == {
        "wait_s": 2.5,
        "region": "us",
        "languages": ("de", "fr"),
        "careful": False,
    }


def test_a_list_of_verifiers_stands_next_to_their_tables(tmp_path: Path) -> None:
    file = tmp_path / "cs.toml"
    file.write_text('[verifiers]\nenabled = ["smtp"]\n[verifiers.smtp]\nsalt = "ours"')

    settings = load(file, environment={})

    assert settings.verifiers == ("smtp",)
    assert given_to_verifier(settings, "smtp")["salt"] == "ours"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "[sources.acme_eu]\nregion = 'us'",
            "sources.acme_eu: 'acme_eu' is not installed; did you mean 'acme-eu'?",
        ),
        (
            "[sources.zzz]\nx = 1",
            "sources.zzz: 'zzz' is not installed; there are acme-eu, apollo, brave,",
        ),
        ("[verifiers.oracle]\nurl = 'x'", "'oracle' is not installed; "),
        (
            "[sources.acme-eu]\nregoin = 'us'",
            "sources.acme-eu: there is no setting 'regoin'; did you mean 'region'?",
        ),
        ("[sources.acme-eu]\nzzz = 1", "there are depth, region, languages, careful, wait_s,"),
        (
            "[sources.plain]\nurl = 'x'",
            "sources.plain: there is no setting 'url'; there are no",
        ),
        ("[sources.website]\nurl = 'x'", "there is no setting 'url'; there are none"),
        ("[sources.acme-eu]\nregion = 'uk'", "sources.acme-eu.region: one of eu, us, not 'uk'"),
        ("[sources.acme-eu]\ncareful = 3", "sources.acme-eu.careful: true or false, not 3"),
        (
            "[sources.acme-eu]\nwait_s = 0",
            "wait_s: a number above 0 (of one question), not 0",
        ),
        ("[sources.acme-eu]\nlist_file = ''", "sources.acme-eu.list_file: a path, not ''"),
        (
            "[sources.acme-eu]\npin = 's3cret'",
            "sources.acme-eu.pin: a whole number, not what it is set to",
        ),
        ("[sources.gone]\nurl = 'x'", "sources.gone: acme_nowhere:directory cannot be loaded:"),
        ("[sources]\napi_key = 's3cret'", "sources.api_key: a table of settings, [sources.api"),
        ("[sources.wikidata]\nurl = 'wikidata'", "(of api.php; empty: not asked), not 'wikid"),
        ("[verifiers.smtp]\nport = 0", "smtp.port: a whole number from 1 to 65535, not 0"),
        (
            "verifiers = ['smtp']\n[verifiers.smtp]\nsalt = 's3cret'",
            "; beside [verifiers.NAME] the list is verifiers.enabled",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text(content)

    with pytest.raises(BadSettings) as error:
        load(file, environment={})

    assert str(error.value).startswith(f"settings file {file}")
    assert message in str(error.value)
    assert "s3cret" not in str(error.value)


def test_a_variable_is_named_as_the_place() -> None:
    with pytest.raises(BadSettings, match=r"^environment variable CS_SOURCES__NO__URL: sour"):
        load(environment={"CS_SOURCES__NO__URL": "x"})
    with pytest.raises(BadSettings, match=r"CS_VERIFIERS__SMTP__PORT: verifiers\.smtp\.port"):
        load(environment={"CS_VERIFIERS__SMTP__PORT": "x"})
    with pytest.raises(BadSettings, match=r"there is no setting 'sources__smtp'"):
        load(environment={"CS_SOURCES__SMTP": "x"})


def test_secrets_are_never_printed() -> None:
    environment = {
        "CS_SOURCES__ACME_EU__PIN": "4711",
        "CS_SOURCES__ACME_EU__CLIENT_SECRET": "s3cret",
        "CS_VERIFIERS__SMTP__SALT": "s3cret",
    }

    settings = load(environment=environment)

    assert given_to_source(settings, "acme-eu")["client_secret"] == "s3cret"
    for printed in (
        repr(settings),
        repr(given_to_source(settings, "acme-eu")),
        repr(given_to_verifier(settings, "smtp")),
        repr(settings.shown()),
    ):
        assert "4711" not in printed
        assert "s3cret" not in printed
        assert "********" in printed


def test_older_names_at_the_top_are_what_a_table_does_not_say() -> None:
    older = {
        "CS_SEARXNG_URL": "http://old.example",
        "CS_SMTP_HELO": "out.verify.example",
        "CS_SMTP_PORT": "2525",
    }
    tables = {
        "CS_SOURCES__SEARXNG__URL": "http://new.example",
        "CS_VERIFIERS__SMTP__PORT": "2526",
    }

    before, after = load(environment=older), load(environment=older | tables)

    assert given_to_source(before, "searxng")["url"] == "http://old.example"
    assert given_to_source(after, "searxng")["url"] == "http://new.example"
    assert (
        given_to_verifier(before, "smtp")["port"],
        given_to_verifier(after, "smtp")["port"],
    ) == (
        2525,
        2526,
    )
    assert given_to_verifier(after, "smtp")["helo"] == "out.verify.example"
