"""`cs people-source try`: one people source, made as the service makes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import Here
from cs.plugins.contracts.stand_in import ServiceRequest
from cs.plugins.new_package import PackageKind
from plugins.installed import Install, install, install_written
from plugins.played import on_loopback

__all__ = ["install"]


@pytest.fixture(scope="module")
def asked() -> list[ServiceRequest]:
    return []


@pytest.fixture(scope="module")
def url(asked: list[ServiceRequest]) -> Iterator[str]:
    """A service on loopback that knows two people of every brand but one."""

    def answer(question: ServiceRequest) -> object:
        asked.append(question)
        if question.params["company"] == "Nobody Knows It":
            return {"people": []}
        if question.params["company"] == "Broken":
            return {"error": "out of order"}
        people = [
            {"full_name": "Robin Sample", "headline": "Head of Influencer Marketing at Acme"},
            {"full_name": "Kim Example", "headline": "Accountant at Acme"},
        ]
        return {"people": people[: int(question.params["limit"])]}

    with on_loopback(answer) as url:
        yield url


@pytest.fixture
def tried(
    here: Here, install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> Here:
    """Run the command with the source that `cs new` writes installed, and set up."""
    install_written(install, PackageKind.PEOPLE_SOURCE, "acme-people")
    monkeypatch.setenv("CS_SOURCES__ACME_PEOPLE__URL", url)
    monkeypatch.setenv("CS_SOURCES__ACME_PEOPLE__KEY", "played")
    monkeypatch.setenv("CS_DATA_DIR", str(tmp_path / "data"))
    return here


@pytest.mark.slow
def test_it_is_asked_by_itself_and_each_headline_is_read(
    tried: Here, asked: list[ServiceRequest]
) -> None:
    asked.clear()
    message = tried("people-source", "try", "acme-people", "Nike", "--limit=2")
    row = tried("people-source", "try", "acme-people", "Nike", "--limit=1", "--json").rows[0]

    assert message.code == 0, message
    assert message.out.startswith("acme-people, asked for Nike (nike.com): used, 2 people in ")
    assert "influencer, head" in message.out
    assert "not looked for" in message.out
    assert [dict(each.params) for each in asked] == [
        {"company": "Nike", "domain": "nike.com", "limit": "2"},
        {"company": "Nike", "domain": "nike.com", "limit": "1"},
    ]
    assert (row["source"], row["ended"], row["why"]) == ("acme-people", "used", None)
    assert row["people"][0]["full_name"] == "Robin Sample"
    assert row["people"][0]["role"]["eligible"] is True


@pytest.mark.slow
def test_what_it_could_not_tell_is_said_with_why(
    tried: Here, asked: list[ServiceRequest]
) -> None:
    ask = ("people-source", "try", "acme-people")
    asked.clear()

    unknown = tried(*ask, "Nobody Knows It", "--domain=https://www.nobody.example/")
    failed = tried(*ask, "Broken")
    missing = tried(*ask, "Acme", CS_SOURCES__ACME_PEOPLE__URL="")

    assert (unknown.code, unknown.err) == (0, "")
    assert "no_results, 0 people" in unknown.out
    assert asked[0].params["domain"] == "nobody.example"
    assert failed.code == 1
    assert "acme-people says 'out of order'" in failed.err
    assert missing.error() == "acme-people: not_configured: set sources.acme-people.url"


def test_what_cannot_be_asked_is_reported(tried: Here) -> None:
    for words, message in (
        (
            ["nobody", "Acme"],
            "people_sources: 'nobody' is not installed; there are acme-people",
        ),
        (["acme-people", " "], "brand"),
        (["acme-people", "Acme", "--domain=nowhere"], "domain"),
    ):
        assert message in tried("people-source", "try", *words).error(2), words
