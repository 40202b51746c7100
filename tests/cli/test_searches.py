"""`cs searches` on what a service left that lived through restarts and erasures."""

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.command import Here
from cs.history.redacting import HIDDEN
from cs.history.words import KEPT, REASONS
from history.recorded_answers import (
    BRANDS,
    Answer,
    InFolder,
    live_long,
    lived,
)

#: Names, addresses and headlines of people in this world, in part.
PERSONAL = (
    *("Ada Kern", "Ben Ode", "Cid Fell", "ada-kern", "ada.kern", "ben.ode", "@acme.test"),
    *("Head of Influencer Marketing", "Social Media Manager", "Designer", "no such user"),
)
WHY = "--reveal=Held against what callers were told, ticket 1"


class Left(NamedTuple):
    """Data that a service left, the options that name it, and what it had answered."""

    options: dict[str, str]
    answers: list[Answer]
    as_left: dict[bytes, bytes]
    keys: list[str]

    def search(self, status: str) -> Answer:
        """Return the last answer with *status*."""
        found = [a for a in self.answers if json.loads(a.body)["status"] == status]
        return found[-1]


async def live_at(place: InFolder, options: dict[str, str]) -> Left:
    async with lived(place) as lifetime:
        await live_long(lifetime)
        as_left = {a.body: lifetime.as_left(a) for a in lifetime.answers}
        keys = [key.id for key in lifetime.keys]
        return Left(options, lifetime.answers, as_left, keys)


@pytest.fixture(scope="module")
def in_folder(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("searches") / "data"
    return asyncio.run(live_at(InFolder(folder), {"CS_DATA_DIR": str(folder)}))


@pytest.fixture(scope="module")
def nobody_erased(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("searches") / "data"

    async def live() -> Left:
        async with lived(InFolder(folder)) as lifetime:
            for brand in BRANDS:
                await lifetime.ask(0, brand)
            await lifetime.read_all()
            return Left({"CS_DATA_DIR": str(folder)}, lifetime.answers, {}, [])

    return asyncio.run(live())


def show(here: Here, left: Left, search: str, *options: str) -> dict[str, Any]:
    ran = here("searches", "show", search, "--json", *options, **left.options)
    assert ran.code == 0, ran
    return ran.rows[0]


@pytest.mark.slow
def test_the_record_is_what_was_answered_then(in_folder: Left, here: Here) -> None:
    assert len(in_folder.answers) > 30
    for answer in in_folder.answers:
        shown = show(here, in_folder, answer.search, f"--at={answer.after}", WHY)
        assert shown["record"] == json.loads(in_folder.as_left[answer.body])
        assert shown["position"] == answer.after


def test_a_past_answer_leaves_out_people_who_have_aged_out(tmp_path: Path, here: Here) -> None:
    async def live() -> Left:
        async with lived(InFolder(tmp_path / "data")) as lifetime:
            await lifetime.ask(0, "Acme")
            await lifetime.read_all()
            await lifetime.age_out()
            await lifetime.read_all()
            as_left = {a.body: lifetime.as_left(a) for a in lifetime.answers}
            return Left({"CS_DATA_DIR": str(tmp_path / "data")}, lifetime.answers, as_left, [])

    left = asyncio.run(live())

    contacts = [json.loads(a.body)["contacts"] for a in left.answers]
    assert [len(each) for each in contacts] == [2, 0]
    for answer in left.answers:
        shown = show(here, left, answer.search, f"--at={answer.after}", WHY)
        assert shown["record"] == json.loads(left.as_left[answer.body])


@pytest.mark.slow
def test_the_evidence_is_shown(in_folder: Left, here: Here, tmp_path: Path) -> None:
    zenith = next(
        a for a in in_folder.answers if json.loads(a.body).get("domain") == "zenith.test"
    )

    shown = show(here, in_folder, zenith.search, WHY)

    run = shown["run"]
    verification = [each for each in run["attempts"] if each["stage"] == "verification"]
    assert [each["item"] for each in verification] == ["zenith.test"] * 2
    assert [each["end"] for each in verification] == ["replaced", "answered"]
    assert verification[1]["after_restart"]
    causes = [(a["caused_by"]["kind"], a["end_caused_by"]["kind"]) for a in verification]
    assert causes == [("message", "start"), ("start", "message")]
    request = shown["search"]["request"]
    assert shown["search"]["caused_by"] == run["caused_by"]
    assert run["caused_by"] == {"kind": "request", "id": request, "key": shown["search"]["key"]}
    assert shown["asked"][0]["ended"] == "used"
    assert run["resolved_by"].startswith("resolution-")
    assert {each["calls"] for each in shown["asked"]} == {0}
    gone, cid = run["people"]
    assert (gone["found"]["full_name"], gone["ranked"], gone["checks"]) == ("", None, [])
    assert (cid["why"], cid["found"]["full_name"]) == ("not-eligible", "Cid Fell")
    read = here("searches", "show", zenith.search, **in_folder.options).out
    assert f"call {request}" in read
    assert "start of a process" in read
    assert "Considered and erased since: 1." in read
    assert "$0 for 0 paid calls, as the log has it" in read
    page = tmp_path / "page.html"
    here("searches", "show", zenith.search, f"--html={page}", **in_folder.options)
    assert page.read_text().count("<rect ") >= len(run["attempts"]), "each attempt is drawn"
    assert "start of a process" in page.read_text()
    assert f"call {request}" in page.read_text()
    then = tmp_path / "then.html"
    at = f"--at={zenith.after}"
    here("searches", "show", zenith.search, at, f"--html={then}", **in_folder.options)
    assert "who were erased since" in then.read_text()


def test_each_address_has_its_conversation_and_the_rule_that_read_it(
    nobody_erased: Left, tmp_path: Path, here: Here
) -> None:
    left = nobody_erased
    search = left.answers[0].search

    ada, ben, cid = show(here, left, search, WHY)["run"]["people"]
    hidden, _, _ = show(here, left, search)["run"]["people"]

    assert [each["why"] for each in (ada, ben, cid)] == ["verified", "verified", "not-eligible"]
    (check,) = ada["checks"]
    assert check["verified"]
    tried = check["checked"]["evidence"][-1]
    assert tried["address"] == "ada.kern@acme.test"
    assert tried["conversation"][-1]["text"] == "250 2.1.5 Ok"
    seen = hidden["checks"][0]["checked"]["evidence"][-1]
    assert seen["address"] == HIDDEN
    assert seen["conversation"][-1]["text"] == "250 2.1.5 (hidden)"
    assert hidden["found"]["full_name"] == hidden["who"] == ada["who"]
    same = ("place", "why", "position", "left_out")
    assert [hidden[name] for name in same] == [ada[name] for name in same]
    page = tmp_path / "page.html"
    here("searches", "show", search, WHY, f"--html={page}", **left.options)
    assert "RCPT TO:&lt;ada.kern@acme.test&gt;" in page.read_text()


def test_a_page_names_no_person_and_escapes_the_brand(
    nobody_erased: Left, tmp_path: Path, here: Here
) -> None:
    left = nobody_erased
    pages = []
    for answer in (left.answers[0], left.answers[-1]):
        path = tmp_path / f"{answer.search}.html"
        ran = here("searches", "show", answer.search, f"--html={path}", **left.options)
        assert (ran.code, path.stat().st_mode & 0o777) == (0, 0o600)
        pages.append(path.read_text())

    assert [each for each in PERSONAL if each in pages[0]] == []
    assert "person_" in pages[0]
    assert "<img" not in pages[1]
    assert "&lt;img src=x onerror=alert(1)&gt;" in pages[1]


def test_who_looks_is_stored_first(in_folder: Left, here: Here, tmp_path: Path) -> None:
    answer = in_folder.search("done")
    page = tmp_path / "looked.html"

    at = f"--at={answer.after}"
    ran = here(
        "searches", "show", answer.search, at, WHY, f"--html={page}", **in_folder.options
    )

    assert ran.out == f"written to {page}\n"
    events = here("events", "export", "--type=disclosure.made", **in_folder.options).rows
    message = events[-1]["data"]
    assert message["command"] == "searches show"
    assert message["why"] == WHY.removeprefix("--reveal=")
    assert (message["file"], message["upto"]) == ("looked.html", answer.after)
    assert message["asked"]["lookup"].startswith("brand-")


def test_searches_are_listed(in_folder: Left, here: Here) -> None:
    listed = here("searches", "list", "--json", **in_folder.options).rows

    last = {a.search: json.loads(a.body) for a in in_folder.answers}
    assert {row["search"] for row in listed} == set(last)
    for row in listed:
        record = last[row["search"]]
        assert row["brand"] == record["brand"]
        assert row["outcome"] == record.get("reason", record["status"])
        assert (row["reused"], row["charged"]) == (record["cached"], record["charged"])

    def ids(*options: str) -> set[str]:
        ran = here("searches", "list", "--json", *options, **in_folder.options)
        assert ran.code == 0, ran
        return {row["search"] for row in ran.rows}

    assert ids("--brand=acme") == {r["search"] for r in listed if r["brand"].lower() == "acme"}
    first, second = in_folder.keys
    assert ids(f"--key={first}") | ids(f"--key={second}") == set(last)
    assert ids("--since=2026-01-20") | ids("--until=2026-01-20") == set(last)
    assert ids("--since=2026-01-20") & ids("--until=2026-01-20") == set()
    assert ids("--outcome=no_linkedin") == {
        row["search"] for row in listed if row["outcome"] == "no_linkedin"
    }
    assert ids(f"--lookup={listed[0]['lookup']}") >= {listed[0]["search"]}
    assert ids("--last=1") == {listed[-1]["search"]}
    table = here("searches", "list", width=200, **in_folder.options).out
    assert all(search in table for search in last)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "srch_none"), 1, "there is no search srch_none; `cs searches list` shows"),
        (("show", "{search}", "--at=1"), 1, "had not been made by then"),
        (("show", "{search}", "--at=soon"), 2, "--at: a position or a time such as"),
        (("show", "{search}", "--reveal=so"), 2, "for --reveal. a reason has 10 to 300"),
        (("show", "{search}", "--html={there}"), 2, "already exists"),
        (("show", "{search}", "--html={nowhere}"), 2, "cannot be written: there is no folder"),
        (("list", "--since=soon"), 2, "Invalid value for --since: a time is written"),
    ],
)
def test_what_cannot_be_shown_is_reported(
    words: tuple[str, ...], code: int, said: str, in_folder: Left, here: Here
) -> None:
    folder = Path(in_folder.options["CS_DATA_DIR"])
    there = folder / "log.db"
    names = {
        "search": in_folder.answers[0].search,
        "there": there,
        "nowhere": folder / "none" / "page.html",
    }
    spelt = [word.format(**names) for word in words]

    assert said in here("searches", *spelt, **in_folder.options).error(code)


def test_every_reason_of_the_verifier_s_document_has_words() -> None:
    text = (Path(__file__).parents[2] / "docs" / "verifiers.md").read_text()
    table = text.partition("## Reasons")[2].partition("\n\n`greylisted`")[0]

    message = {word for line in table.splitlines() for word in line.split("`")[1:-3:2]}
    assert len(message) > 30
    assert message - REASONS.keys() == set()
    assert all(KEPT.values())


async def test_it_works_next_to_a_running_service(tmp_path: Path, here: Here) -> None:
    folder = tmp_path / "data"
    async with lived(InFolder(folder)) as lifetime:
        search = await lifetime.ask_meanwhile(0, "Acme")
        assert search is not None
        words = ("searches", "show", search, "--json", f"--data-dir={folder}")

        running = await asyncio.to_thread(here, *words)
        await lifetime.answer_all()
        done = await asyncio.to_thread(here, *words)

    assert running.rows[0]["record"]["status"] == "running"
    assert running.rows[0]["run"]["finished_at"] is None
    assert (done.rows[0]["record"]["status"], done.rows[0]["now"]) == ("done", True)
