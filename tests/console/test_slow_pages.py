"""Reports, comparisons, checks, requests of people: what a process of its own does."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.test_finding import AT, RESTED, run, search
from cs.eventlog.port import NO_STREAM, Append
from cs.history.report import FIGURES
from domain.golden_files import golden_event
from harness.on_data import plant
from harness.served import Served, cs

pytestmark = pytest.mark.slow  # a service in a process of its own

#: The events of each stream.
PAST = {
    "key-past": [
        golden_event("key.issued.v1"),
        *search("srch_done", "Rested", "done"),
        *search("srch_none", "Other", "no_emails"),
    ],
    RESTED: [*run(1, "ranking-1"), *run(2, "ranking-2")],
}
REASON = "Asked for by the person, ticket 4711"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("slow") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def found(service: Served) -> Mapping[str, Any]:
    """The record of the first of two live searches for one brand."""
    with service.client(service.new_key(50)) as client:
        first = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        service.command("brands", "forget", "Veltrana")
        client.post("/contacts", json={"brand": "Veltrana", "wait": True})
    return dict(first)


@pytest.fixture
def console(service: Served, found: Mapping[str, Any]) -> Iterator[httpx.Client]:
    assert found
    where = f"{service.admin_url}/console"
    with httpx.Client(base_url=where, trust_env=False, timeout=120) as client:
        yield client


def ready(client: httpx.Client, path: str) -> str:
    """Return the page *path* when it is made."""
    while "Not ready yet" in (page := client.get(path)).text:
        pass
    assert page.status_code == 200, page.text
    return unescape(page.text)


def form(client: httpx.Client, page: str, **fields: str) -> dict[str, str]:
    token = re.findall(r'name="csrf" value="(\w+)"', client.get(page).text)[0]
    return {"csrf": token, **fields}


def command(page: str) -> list[str]:
    found = re.search(r"The same in a terminal: <code>cs ([^<]+)</code>", page)
    assert found is not None
    return found[1].split()


def cells(page: str, column: str) -> list[str]:
    return re.findall(f'data-label="{column}"[^>]*>([^<]*)<', page)


def test_the_report_has_the_figures_of_the_command_and_their_sql(
    service: Served, console: httpx.Client
) -> None:
    page = ready(console, "/report")
    printed = json.loads(service.command(*command(page), "--json"))

    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", page))
    assert facts["Searches answered"] == str(
        printed["figures"]["summary"][0]["searches_answered"]
    )
    for figure in FIGURES:
        assert f"SQL: {figure.name}" in page
        assert figure.sql.splitlines()[0] in page
    assert len(printed["figures"]) == len(FIGURES)


@pytest.mark.parametrize(
    "asked",
    ["since=soon", "until=2026-02-31", "since=2026-03-02&until=2026-03-01", "since=0001-01-01"],
)
def test_a_period_that_is_none_is_refused(console: httpx.Client, asked: str) -> None:
    assert console.get(f"/report?{asked}").status_code == 400


def test_an_empty_period_says_so(console: httpx.Client) -> None:
    page = ready(console, "/report?since=2020-01-01&until=2020-01-02")

    assert "Nothing in this period." in page


def test_two_runs_are_compared_as_the_command_does(
    service: Served, console: httpx.Client
) -> None:
    brands = console.get("/brands").text
    (stream,) = set(re.findall(r"/console/brands/(brand-\w+)", brands))
    of_brand = console.get(f"/brands/{stream}").text
    (link,) = re.findall(rf"/console(/brands/{stream}/compare\?after=2-\w+)", of_brand)
    page = ready(console, link)
    words = command(page)
    lines = service.command(*words, "--json").splitlines()
    printed = [json.loads(line) for line in lines]

    assert cells(page, "Person") == [each["who"] for each in printed]
    assert "Both runs show the same people." in page
    ends = [word.rpartition(".")[2] for word in words]
    back = ready(console, f"/brands/{stream}/compare?before={ends[2]}&after={ends[1]}")
    assert command(back) == ["compare", words[2], words[1]]
    other = console.get(f"/brands/{stream}/compare?before=1-none")
    assert other.status_code == 400


def test_sources_and_verifiers_are_checked_now(console: httpx.Client) -> None:
    fields = form(console, "/sources")
    for kind, name in (("sources", "searxng"), ("verifiers", "smtp")):
        said = console.post(f"/sources/check-{kind}", data=fields).text
        assert re.search(rf"\d+ of \d+ {kind} work", said), said
        assert name in cells(unescape(console.get("/sources").text), "Name")
    assert "The last check" in console.get("/sources").text


def test_sources_are_shown_while_the_account_of_paid_services_is_away(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as service:
        (service.folder / "spending.db").mkdir()
        page = httpx.get(f"{service.admin_url}/console/sources", trust_env=False, timeout=30)

    assert page.status_code == 200, page.text
    assert "They cannot be read now" in page.text
    assert "How sources ended" in page.text


@pytest.fixture(scope="module")
def rested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The console of a service whose last two runs, and last search, are 50 days old."""
    folder = tmp_path_factory.mktemp("rested") / "data"
    plant(folder, *(Append(stream, NO_STREAM, events) for stream, events in PAST.items()))
    with (
        Served(folder) as service,
        httpx.Client(
            base_url=f"{service.admin_url}/console", trust_env=False, timeout=120
        ) as client,
    ):
        yield client


def test_the_report_shows_the_last_period_with_a_search(rested: httpx.Client) -> None:
    page = ready(rested, "/report")

    until = AT.date() + timedelta(days=1)
    since = until - timedelta(days=30)
    assert f'name="since" value="{since}"' in page
    assert command(page)[:5] == ["report", "--since", f"{since}", "--until", f"{until}"]
    assert (
        dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", page))["Searches answered"] == "2"
    )


def test_two_runs_are_named_and_a_change_of_rules_is_said(rested: httpx.Client) -> None:
    page = ready(rested, f"/brands/{RESTED}/compare")

    for number in (1, 2):
        name = f"Run {number} · {AT + timedelta(days=number):%F} · 0 people"
        assert re.search(f'<option value="{number}-a"[^>]*>{name}</option>', page)
    assert "by different rules, ranking-1 and ranking-2" in page
    same = ready(rested, f"/brands/{RESTED}/compare?before=1-a&after=1-a")
    assert "different rules" not in same


def test_what_is_held_on_a_person_is_a_file_and_its_reason_is_stored(
    service: Served, found: Mapping[str, Any], console: httpx.Client
) -> None:
    contact = next(each for each in found["contacts"] if each["email"])
    named = {"email": contact["email"], "profile": ""}
    fields = form(console, "/people", **named)
    none = console.post("/people/export", data=fields)
    answer = console.post("/people/export", data={**fields, "why": REASON})

    assert none.status_code == 409
    assert contact["full_name"] not in none.text
    assert answer.headers["content-disposition"] == 'attachment; filename="person.json"'
    assert answer.headers["cache-control"] == "no-store"
    held = answer.json()
    assert held["known"] is True
    assert held["warnings"] == []
    assert contact["full_name"] in answer.text
    trail = service.command("log", "trail", "--json").splitlines()
    last = json.loads(trail[-1])
    assert (last["command"], last["by"], last["why"]) == ("people export", "sandbox", REASON)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "one of the two"),
        ({"email": "jo@a.test", "profile": "linkedin.com/in/jo"}, "one of the two"),
        ({"email": "no address"}, "one address"),
        ({"profile": "https://example.com/jo"}, "a LinkedIn profile"),
    ],
)
@pytest.mark.parametrize("what", ["export", "erase"])
def test_a_person_who_is_not_named_is_refused(
    console: httpx.Client, named: dict[str, str], said: str, what: str
) -> None:
    fields = form(console, "/people", why=REASON, **named)
    answer = console.post(f"/people/{what}", data=fields)

    assert answer.status_code == 409
    assert said in answer.text


def test_a_person_is_erased_once_for_a_form_and_named_nowhere(
    tmp_path: Path,
) -> None:
    with Served(tmp_path / "data") as service:
        with service.client(service.new_key()) as caller:
            record = caller.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        contact = next(each for each in record["contacts"] if each["email"])
        where = f"{service.admin_url}/console"
        with httpx.Client(base_url=where, trust_env=False, timeout=120) as console:
            page = console.get("/people").text
            fields = form(console, "/people", email=contact["email"], once="this-form")
            erased = console.post("/people/erase", data=fields)
            again = console.post("/people/erase", data=fields)
            search = console.get(f"/searches/{record['id']}").text
        trail = cs("log", "trail", "--json", f"--data-dir={service.folder}").splitlines()
        with service.client(service.new_key()) as caller:
            later = caller.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        log = service.output

    assert "Cannot be undone" in page
    assert "Later searches leave this person out" in erased.text
    assert again.text == erased.text
    acts = [json.loads(line) for line in trail]
    assert [each["what"] for each in acts if each.get("by") == "sandbox"] == [
        "person_suppressed",
        "person_erased",
    ]
    assert contact["full_name"] not in json.dumps(later)
    for text in (erased.text, search, log, *trail):
        assert contact["email"] not in text
        assert contact["full_name"] not in text


def test_only_privacy_may_and_the_others_are_offered_nothing(tmp_path: Path) -> None:
    with Served(tmp_path / "data", sandbox=False) as service:
        where = f"--data-dir={service.folder}"
        made = json.loads(cs("operators", "create", "olga", "--role=operator", "--json", where))
        url = f"{service.admin_url}/console"
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as console:
            console.post("/sign-in", data={"name": "olga", "token": made["token"]})
            page = console.get("/people").text
            fields = form(console, "/people", email="jo@acme.test", why=REASON)
            statuses = {
                path: console.post(path, data=fields).status_code
                for path in ("/people/export", "/people/erase", "/dead-letters")
            }

    assert "Both need the role privacy" in page
    assert "/console/people/erase" not in page
    assert set(statuses.values()) == {403}


def test_a_damaged_stream_is_listed(tmp_path: Path) -> None:
    service = Served(tmp_path / "data")
    with service:
        key = service.new_key()["id"]
    with closing(sqlite3.connect(service.folder / "log.db")) as log, log:
        log.execute(
            "UPDATE stored_events SET state = ? WHERE originator_id = ?",
            (b"{nonsense", f"key-{key}"),
        )
    for file in service.folder.glob("views.db*"):
        file.unlink()
    with service, httpx.Client(base_url=service.admin_url, trust_env=False) as client:
        page = client.get("/console/dead-letters").text
        overview = client.get("/console/").text
        linked = client.get(f"/console/events?stream=key-{key}")

    assert f"key-{key}" in page
    assert "Passed over until they are mended" in page
    assert "Damaged streams" in overview
    assert linked.status_code == 200
