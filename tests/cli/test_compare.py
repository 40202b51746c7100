"""`cs compare` on the data that a real service left."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli.command import Here
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from harness.in_process import on_folder
from harness.outside import ADA, BEN, tools

PROMOTED = replace(BEN, headline="Head of Social Media at Acme")
NEW = replace(
    BEN,
    full_name="Dee Roe",
    first_name="Dee",
    last_name="Roe",
    linkedin_url="https://www.linkedin.com/in/dee-roe",
)
#: Whom each of three lookups finds.
FOUND = ((ADA, BEN), (ADA, PROMOTED, NEW), (PROMOTED, NEW))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare") / "data"

    async def make() -> None:
        existing = frozenset({"ada.kern@acme.test"})
        for people in FOUND:
            async with on_folder(folder, tools(people, existing)) as service:
                answer = await service.search(await service.new_key(), brand="Acme")
                assert answer.status_code == 200, answer.text
                await service.operator.forget_brand(Query(brand="Acme"))
            existing |= {"ben.ode@acme.test"}  # from the second lookup on

    asyncio.run(make())
    return folder


def started(here: Here, *where: str) -> list[dict[str, Any]]:
    rows = here("events", "export", "--type", "lookup-started", *where).rows
    assert {row["stream"] for row in rows} == {brand_stream(Query(brand="Acme"))}
    return rows


def lookups(here: Here, *where: str) -> list[str]:
    return [row["data"]["lookup"] for row in started(here, *where)]


def changes(rows: list[dict[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    return [(row["change"], tuple(row["changed"])) for row in rows]


EXPECTED = [
    ("changed", ("title", "level", "address")),
    ("joined", ()),
    ("left", ()),
]


@pytest.mark.slow
def test_all_runs_of_a_brand_are_compared_one_after_another(history: Path, here: Here) -> None:
    rows = here("compare", "Acme", "--json", f"--data-dir={history}").rows

    assert sorted(changes(rows)) == EXPECTED
    by_change = {row["change"]: row for row in rows}
    changed, joined, left = (by_change[name] for name in ("changed", "joined", "left"))
    assert (changed["was"]["level"], changed["now"]["level"]) == ("manager", "head")
    assert (changed["was"]["verified"], changed["now"]["verified"]) == (False, True)
    assert (joined["before"], left["after"]) == (changed["before"], rows[-1]["after"])
    assert len({row["who"] for row in rows}) == 3
    assert "Ode" not in str(rows)
    assert "acme.test" not in str(rows)


def test_two_lookups_are_compared_across_those_between(history: Path, here: Here) -> None:
    first, _, last = lookups(here, f"--data-dir={history}")

    rows = here("compare", first, last, "--json", f"--data-dir={history}").rows

    assert sorted(changes(rows)) == EXPECTED
    assert {(row["before"], row["after"]) for row in rows} == {(first, last)}
    back = here("compare", last, first, "--json", f"--data-dir={history}").rows
    assert sorted(row["change"] for row in back) == ["changed", "joined", "left"]


def test_an_unknown_lookup_is_answered_with_those_of_its_brand(
    history: Path, here: Here
) -> None:
    known = lookups(here, f"--data-dir={history}")
    unknown = f"{known[0].rpartition('.')[0]}.9-k7f2m9qd"

    message = here("compare", unknown, known[0], f"--data-dir={history}").error(1)

    assert message == f"there is no lookup {unknown}; of its brand there are {', '.join(known)}"


def test_runs_are_compared_as_of_then(history: Path, here: Here) -> None:
    first, second, third = started(here, f"--data-dir={history}")
    words = ("compare", "Acme", f"--data-dir={history}")

    every = here(*words, "--json").rows
    then = here(*words, "--json", f"--at={third['position']}").rows
    at_that_time = here(*words, "--json", f"--at={third['at']}").rows

    assert then == at_that_time == [row for row in every if row["change"] != "left"]
    began = here(*words, f"--at={first['position']}").err
    assert began == (
        "matched: Acme\ncs: fewer than two lookups have an answer: nothing to compare\n"
    )
    assert (
        here(*words, "--at=0").error().endswith("was never looked up, and no other brand was")
    )
    two = ("compare", first["data"]["lookup"], second["data"]["lookup"])
    for position, why in ((0, "begun"), (second["position"], "ended")):
        message = here(*two, f"--at={position}", f"--data-dir={history}").error()
        assert message == f"{two[1 + bool(position)]} had not {why} by then"


def test_people_are_named_where_they_are_revealed(history: Path, here: Here) -> None:
    words = ("compare", "Acme", f"--data-dir={history}")

    hidden, shown = here(*words).out, here(*words, "--reveal=a test of what is shown").out

    assert "another title; level manager -> head; address verified" in hidden
    assert "Ben" not in hidden
    assert "joined 1, left 0, changed 1, the same 1" in hidden
    assert (
        "changed Ben Ode: title Social Media Manager -> Head of Social Media; "
        "level manager -> head; address verified" in shown
    )
    assert "left Ada Kern: Head of Influencer Marketing, influencer, head, " in shown
    trail = here("log", "trail", "--json", f"--data-dir={history}").out
    assert "a test of what is shown" in trail
    *_, third = started(here, f"--data-dir={history}")
    before = here(*words, f"--at={third['position']}", "--reveal=a test of what was read").out
    assert "joined Dee Roe" in before
    assert "left Ada Kern" not in before, "the disclosure ends there"
    rows = here("events", "export", "--type=disclosure.made", f"--data-dir={history}").rows
    assert rows[-1]["data"]["upto"] == third["position"]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "name a brand, a --domain, or two lookups"),
        (("Nobody",), 1, "Nobody was never looked up; there are Acme"),
        (("brand-0a1b.1",), 2, "name two lookups, or a brand"),
        (("brand-0a1b.1", "brand-0a1b.2"), 1, "there is no lookup brand-0a1b.1"),
        (("Acme", "Zenith"), 2, "one brand at a time; 'Zenith' is no lookup"),
        (("brand-0a1b.1", "Acme"), 2, "name two lookups, or a brand"),
    ],
)
def test_what_cannot_be_compared_is_reported(
    history: Path, here: Here, words: tuple[str, ...], code: int, why: str
) -> None:
    assert here("compare", *words, f"--data-dir={history}").error(code).startswith(why)
