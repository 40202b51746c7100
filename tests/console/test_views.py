"""What the views show of a service with some history: over HTTP, and in a real browser."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from time import monotonic
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from cli.command import ran
from docs.browser import Browser, PageFailed, running_browser
from harness.accessibility import look, violations
from harness.served import Served, cs

pytestmark = pytest.mark.slow  # a service in a process of its own

HOSTILE = '<script>window.ran=1</script>"\u202e' + "x" * 80
BRANDS = ("Veltrana", "Nuvarro", "Ivorene", "Brontello", HOSTILE)
#: A brand of two runs.
AGAIN = BRANDS[0]
#: Pages that one reads by words alone.
NAMED = (
    "/",
    "/?span=day",
    "/?span=week",
    "/searches",
    "/brands",
    "/keys",
    "/sources",
    "/events",
    "/report",
    "/dead-letters",
    "/people",
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("console") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def found(service: Served) -> Mapping[str, Any]:
    """The record of each brand that was searched, by its name."""
    with service.client(service.new_key(50)) as client:
        records = {
            name: client.post("/contacts", json={"brand": name, "wait": True}).json()
            for name in BRANDS
        }
        service.command("brands", "forget", AGAIN)
        client.post("/contacts", json={"brand": AGAIN, "wait": True})
    return records


def ready(client: httpx.Client, path: str) -> httpx.Response:
    """Return the answer for *path* once what it shows is made."""
    while "Not ready yet" in (answer := client.get(path, follow_redirects=True)).text:
        pass
    return answer


@pytest.fixture(scope="module")
def pages(service: Served, found: Mapping[str, Any]) -> Mapping[str, str]:
    """Every page that links lead to, by its address, `NAMED` first."""
    assert found
    left, read = [f"/console{path}" for path in NAMED], dict[str, str]()
    with httpx.Client(base_url=service.admin_url, trust_env=False, timeout=30) as client:
        while left:
            path = left.pop(0)
            answer = ready(client, path)
            assert answer.status_code == 200, (path, answer.text)
            read[path] = answer.text
            links = (unescape(each) for each in re.findall(r'href="([^"]+)"', answer.text))
            for link in (urljoin(path, each) for each in links):
                known = link in read or link in left or link.startswith("data:")
                if not known and "/static/" not in link:
                    left.append(link)
            assert len(read) < 2_000
    return read


def people(found: Mapping[str, Any]) -> set[str]:
    """Return words that name the people who were found."""
    fields = ("full_name", "email", "headline", "linkedin_url", "last_name")
    return {
        contact[name]
        for record in found.values()
        for contact in record.get("contacts", ())
        for name in fields
        if contact[name]
    }


def test_every_link_leads_to_a_page_and_every_page_says_the_command(
    pages: Mapping[str, str],
) -> None:
    paths = {urlsplit(path).path for path in pages}

    assert len(paths) > 50
    assert any(path.endswith("/compare") for path in paths)
    for kind in ("searches/srch_", "brands/brand-", "keys/key_", "events/1"):
        assert any(path.startswith(f"/console/{kind}") for path in paths), kind
    assert all("The same in a terminal: <code>cs " in page for page in pages.values())
    assert all("http" not in urlsplit(path).scheme for path in pages), "no other origin"


def test_no_page_and_no_address_names_a_person(
    pages: Mapping[str, str], found: Mapping[str, Any]
) -> None:
    named = people(found)

    assert len(named) > 10
    for path, page in pages.items():
        shown = unescape(page) + path
        assert not [each for each in named if each in shown], path


def test_what_a_stranger_wrote_is_text_everywhere(pages: Mapping[str, str]) -> None:
    written = [page for page in pages.values() if "window.ran=1" in page]

    assert written
    assert not [page for page in written if "<script>window" in page or "\u202e" in page]


def test_the_overview_counts_as_the_log_does(
    service: Served, found: Mapping[str, Any], pages: Mapping[str, str]
) -> None:
    assert pages
    export = cs("events", "export", "--type=search-settled", f"--data-dir={service.folder}")
    settled = [json.loads(line)["data"] for line in export.splitlines()]
    shown = httpx.get(f"{service.admin_url}/console/", trust_env=False).text
    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", shown))

    assert facts["Searches ended"] == str(len(settled)) == str(len(found) + 1)
    assert facts["Charged"] == str(sum(each["charged"] for each in settled))


def test_a_search_shows_its_run_its_people_and_what_the_api_answered(
    pages: Mapping[str, str], found: Mapping[str, Any]
) -> None:
    record = found["Veltrana"]
    page = unescape(pages[f"/console/searches/{record['id']}"])

    for stage in ("brand-resolution", "contact-discovery", "ranking", "verification"):
        assert stage in page
    assert "<svg" in page, "the run is drawn"
    assert "People are hidden" in page
    assert f"cs searches show {record['id']}" in page
    verified = [each for each in record["contacts"] if each["email"]]
    assert page.count('data-label="E-mail status">verified<') == len(verified)


def test_a_search_says_at_its_top_why_it_ended_so(
    service: Served, pages: Mapping[str, str], found: Mapping[str, Any]
) -> None:
    done, none = (found[name]["id"] for name in ("Veltrana", "Brontello"))
    why = "brontello.test accepts every address, so no address there can be verified"

    def top(search: str) -> str:
        return unescape(
            re.findall(r'<p class="lead">([^<]+)<', pages[f"/console/searches/{search}"])[0]
        )

    assert re.match(
        r"At least one verified e-mail: \d+ of \d+ people shown have one\. ", top(done)
    )
    assert top(none).startswith(f"No e-mail could be verified: {why}. Search {none}")
    overview = unescape(httpx.get(f"{service.admin_url}/console/", trust_env=False).text)
    assert why in overview.partition("Last lookups without an e-mail")[2]
    assert ">Brontello</a>" in overview
    words = "accepts every address, so none can be verified"
    domain = f"{service.admin_url}/console/mail-domains?domain=brontello.test"
    assert f"Now: {words}" in httpx.get(domain, trust_env=False).text


def test_people_are_shown_once_a_reason_is_stored(
    service: Served, found: Mapping[str, Any]
) -> None:
    record = found["Veltrana"]
    path = f"{service.admin_url}/console/searches/{record['id']}"
    name = record["contacts"][0]["full_name"]
    page = httpx.get(path, trust_env=False).text
    token = re.findall(r'name="csrf" value="([0-9a-f]+)"', page)[0]

    def ask(why: str) -> httpx.Response:
        return httpx.post(path, data={"csrf": token, "why": why}, trust_env=False)

    assert name not in page
    bad, good = ask("because"), ask("Complaint 4711 about a wrong address")

    assert bad.status_code == 409
    assert name not in bad.text
    assert name in unescape(good.text)
    trail = cs("log", "trail", "--json", f"--data-dir={service.folder}").splitlines()
    last = json.loads(trail[-1])
    assert (last["what"], last["by"], last["why"]) == (
        "disclosure_made",
        "sandbox",
        "Complaint 4711 about a wrong address",
    )


def test_the_slider_shows_a_search_as_it_was(
    service: Served, found: Mapping[str, Any], pages: Mapping[str, str]
) -> None:
    search = found["Veltrana"]["id"]
    page = pages[f"/console/searches/{search}"]
    first, last = re.findall(r'type="range" name="at" min="(\d+)" max="(\d+)"', page)[0]
    path = f"{service.admin_url}/console/searches/{search}"

    then = httpx.get(f"{path}?at={first}", trust_env=False)
    before = httpx.get(f"{path}?at={int(first) - 1}", trust_env=False)

    assert int(first) < int(last)
    assert "running" in then.text
    assert before.status_code == 404
    assert "had not been made by position" in before.text


def test_a_key_is_granted_rotated_and_revoked(service: Served) -> None:
    key = service.new_key(3)
    with httpx.Client(
        base_url=f"{service.admin_url}/console/keys/{key['id']}", trust_env=False
    ) as client:
        page = client.get("", follow_redirects=True).text
        token = re.findall(r'name="csrf" value="([0-9a-f]+)"', page)[0]
        form = {"csrf": token, "units": "4", "once": "one-form"}
        granted = client.post("/grant", data=form)
        again = client.post("/grant", data=form)
        wrong = client.post("/grant", data={"csrf": token, "units": "many"})
        rotated = client.post("/rotate", data={"csrf": token})
        revoked = client.post("/revoke", data={"csrf": token})

    assert "The quota is 7 now" in granted.text
    assert "The quota is 7 now" in again.text, "a form that is sent twice acts once"
    assert wrong.status_code == 400
    secret = re.findall(r"cs_live_\w+", rotated.text)[0]
    assert secret != key["key"]
    assert "The key is revoked." in revoked.text
    with service.client({"key": secret}) as caller:
        assert caller.get("/usage").status_code == 401


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("17", "/console/events/17"),
        ("srch_abc", "/console/searches/srch_abc"),
        ("Velt & rana", "/console/brands?q=Velt+%26+rana"),
    ],
)
def test_what_is_searched_for_is_led_to_by_its_form(
    service: Served, words: str, where: str
) -> None:
    url = f"{service.admin_url}/console/find"
    answer = httpx.get(url, params={"q": words}, trust_env=False)

    assert (answer.status_code, answer.headers["location"]) == (303, where)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/events/0", 404),
        ("/events?before=x", 400),
        ("/events?type=nonsense", 400),
        ("/searches/srch_none", 404),
        ("/keys/key_none", 404),
        ("/brands/brand-none", 404),
        ("/brands/foo/compare", 404),
        ("/brands/service/compare", 404),
        ("/events?lookup=foo", 200),
        ("/static/../app.py", 404),
        ("/nowhere", 404),
        ("/events/" + "9" * 5_000, 404),
    ],
)
def test_what_is_not_there_is_said(service: Served, path: str, status: int) -> None:
    answer = httpx.get(f"{service.admin_url}/console{path}", trust_env=False)

    assert answer.status_code == status
    assert "<h1>" in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


def shown(found: Mapping[str, Any], service: Served) -> Iterator[str]:
    with httpx.Client(base_url=service.admin_url, trust_env=False, timeout=30) as client:
        ready(client, "/console/report")
    yield from (f"{service.admin_url}/console{path}" for path in NAMED)
    yield f"{service.admin_url}/console/searches/{found['Veltrana']['id']}"
    yield f"{service.admin_url}/console/mail-domains?domain=veltrana.test"
    brands = httpx.get(f"{service.admin_url}/console/brands", trust_env=False).text
    streams = re.findall(r"(/console/brands/brand-\w+)\"[^>]*>Veltrana<", brands)
    yield f"{service.admin_url}{streams[0]}/compare"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_every_view_is_readable_at_every_width_and_asks_its_own_origin_alone(
    browser: Browser, service: Served, found: Mapping[str, Any], width: int, *, dark: bool
) -> None:
    for url in shown(found, service):
        look(browser, url, width=width, dark=dark)

        assert browser.errors == [], url
        assert all(
            each.startswith((service.admin_url, "data:")) for each in browser.asked_for()
        )
        assert browser.value("document.documentElement.scrollWidth") <= width, url
        assert browser.value("window.ran === undefined")
        assert violations(browser) == [], url


#: Keys that do something by themselves: their text, and their number in Windows.
_KEYS = {"Enter": ("\r", 13), "Tab": ("", 9), "Escape": ("", 27)}


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        text, number = _KEYS.get(key, (key, 0))
        for kind in ("keyDown", "keyUp"):
            browser.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                text=text,
                windowsVirtualKeyCode=number,
            )


def arrive(browser: Browser, part: str) -> None:
    """Return once a page is there whose address has *part*."""
    until, shown = monotonic() + 30, ""
    while monotonic() < until:
        with suppress(PageFailed):  # between two pages
            shown = browser.value("document.readyState === 'complete' ? location.href : ''")
        if part in shown:
            return
    raise AssertionError(f"{shown} is not {part}")


def test_the_keyboard_leads_everywhere(
    browser: Browser, service: Served, found: Mapping[str, Any]
) -> None:
    look(browser, f"{service.admin_url}/console/searches", width=1280, dark=False)

    press(browser, "j", "Escape")
    assert browser.value("document.querySelector('tr.here')") is None
    press(browser, "j", "j")
    second = browser.value("document.querySelector('tr.here a').getAttribute('href')")
    assert second.startswith("/console/searches/")
    press(browser, "Enter")
    arrive(browser, second)
    press(browser, "?")
    assert browser.value("document.getElementById('help').open") is True
    press(browser, "Escape")
    press(browser, "/")
    assert browser.value("document.activeElement.name") == "q"
    search = found["Veltrana"]["id"]
    browser.ask("Input.insertText", text=search)
    press(browser, "Enter")
    arrive(browser, f"/console/searches/{search}")
    press(browser, "g", "k")
    arrive(browser, "/console/keys")
    press(browser, "Tab")
    assert browser.value("document.activeElement.className") == "skip", "the first stop"
    press(browser, "Enter", "Tab", "Tab", "Tab")  # past the filter
    press(browser, "Enter")
    arrive(browser, "/console/keys/key_")
    assert browser.errors == []


def test_every_fact_is_there_without_javascript(
    browser: Browser, service: Served, found: Mapping[str, Any]
) -> None:
    words = "document.querySelector('main').innerText.length"
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for url in shown(found, service):
            look(browser, url, width=1280, dark=False)
            assert browser.value(words) > 100, url
            assert browser.value("typeof htmx") == "undefined"
        look(browser, f"{service.admin_url}/console/", width=1280, dark=False)
        browser.value("document.querySelector('.find input').focus()")
        browser.ask("Input.insertText", text="Veltrana")
        press(browser, "Enter")
        arrive(browser, "/console/brands?q=Veltrana")
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_the_command_that_a_page_names_can_be_run(
    service: Served, pages: Mapping[str, str]
) -> None:
    by_kind = dict[str, list[str]]()
    for path, page in pages.items():
        (command,) = re.findall(r"The same in a terminal: <code>([^<]+)</code>", page)
        kind = re.sub(r"[a-z]+[_-]\w+|\d+", "*", urlsplit(path).path) + command.split()[1]
        by_kind.setdefault(kind, shlex.split(unescape(command)))

    assert len(by_kind) > 10
    for command in by_kind.values():
        done = ran(*command[1:], CS_DATA_DIR=str(service.folder))
        assert done.code == 0, (command, done.err)


def test_an_event_shows_the_chain_of_its_causes(
    pages: Mapping[str, str], found: Mapping[str, Any]
) -> None:
    ids = (found["Veltrana"]["id"], "key.search-settled.v1")
    settled = next(
        unescape(page)
        for path, page in pages.items()
        if path.startswith("/console/events/") and all(each in unescape(page) for each in ids)
    )
    why, _, what = settled.partition("What followed")
    (admitted,) = re.findall(
        r'events/(\d+)">\d+</a></td>\s*<td[^>]*>[^<]*</td>\s*<td[^>]*>key\.search-admitted', why
    )
    begun = unescape(pages[f"/console/events/{admitted}"]).partition("What followed")[2]

    for kind in (
        "brand.lookup-started.v1",
        "brand.stage-issued.v1",
        "brand.lookup-finished.v1",
    ):
        assert kind in why
    assert "Nothing that is known" in what
    assert "key.search-settled.v1" in begun


#: As a browser asks for what a live page shows from now on.
LIVE = {"Accept": "text/event-stream"}


def sent(stream: httpx.Response) -> Iterator[tuple[str, str]]:
    """Yield mark and text of each page that *stream* sends; "as before" for none."""
    mark, lines = "", list[str]()
    for line in stream.iter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            mark = value
        elif line:
            lines.append(value)
        else:
            yield mark, "\n".join(lines)
            lines.clear()


def test_a_live_page_is_sent_again_once_it_shows_something_else(service: Served) -> None:
    asked = ("GET", f"{service.admin_url}/console/events")
    with httpx.stream(*asked, headers=LIVE, trust_env=False, timeout=60) as stream:
        pages = sent(stream)
        first, before = next(pages)
        key = service.new_key()["id"]
        mark, page = next(each for each in pages if f"key-{key}" in each[1])
    headers = {**LIVE, "Last-Event-ID": mark}
    with httpx.stream(*asked, headers=headers, trust_env=False, timeout=60) as stream:
        again = next(sent(stream))
    whole = httpx.get(asked[1], trust_env=False).text

    assert f"key-{key}" not in before
    assert mark != first
    assert again == ("", "as before")
    assert f'<meta name="mark" content="{mark}">' in whole, "a browser knows that it has it"
    assert page in whole


def test_a_live_page_that_several_look_at_is_made_once_and_is_of_each_by_itself(
    service: Served,
) -> None:
    url = f"{service.admin_url}/console/keys"
    one, other = (httpx.get(url, headers=LIVE, trust_env=False).text for _ in range(2))
    once = r'name="once" value="(\w+)"'
    key = service.new_key()["id"]
    of_key = f"{url}/{key}"
    first, second = (httpx.get(of_key, headers=LIVE, trust_env=False).text for _ in range(2))

    assert one == other
    assert "(privacy)" not in one, "nobody is named in it"
    assert not {*re.findall(once, first)} & {*re.findall(once, second)}
    assert len(re.findall(r'name="csrf" value="[0-9a-f]{64}"', first)) == 4


def test_a_browser_shows_what_a_live_page_is_sent(browser: Browser, service: Served) -> None:
    look(browser, f"{service.admin_url}/console/events", width=1280, dark=False)
    key = service.new_key()["id"]
    until = monotonic() + 30
    while f"key-{key}" not in browser.value("document.querySelector('main').innerText"):
        assert monotonic() < until

    assert browser.errors == []
    assert browser.value("document.querySelectorAll('main').length") == 1


def test_a_browser_asks_again_after_an_answer_that_is_no_stream(
    browser: Browser, service: Served
) -> None:
    look(browser, f"{service.admin_url}/console/events", width=1280, dark=False)
    stale = "document.body.classList.contains('stale')"
    shown = "document.querySelector('main').innerText"
    errors = len(browser.errors)
    refused = {"X-Forwarded-For": "192.0.2.1"}  # 403: from elsewhere, without TLS
    browser.ask("Network.setExtraHTTPHeaders", headers=refused)
    browser.value("live()")
    until = monotonic() + 30
    while not browser.value(stale):
        assert monotonic() < until
    browser.ask("Network.setExtraHTTPHeaders", headers={})
    key = service.new_key()["id"]
    while f"key-{key}" not in browser.value(shown):
        assert monotonic() < until

    assert browser.value(stale) is False
    del browser.errors[errors:]  # of the answers with 403


def test_files_have_their_version_in_their_address_and_are_kept(service: Served) -> None:
    page = httpx.get(f"{service.admin_url}/console/", trust_env=False).text
    (style,) = re.findall(r'href="(/console/static/\w+/console.css)"', page)
    old = re.sub(r"static/\w+", "static/0", style)
    kept, gone = (httpx.get(service.admin_url + each, trust_env=False) for each in (style, old))

    assert kept.headers["cache-control"] == "max-age=31536000, immutable"
    assert kept.headers["content-type"].startswith("text/css")
    assert gone.status_code == 404
