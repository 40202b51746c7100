"""The page for people: API and advice, rendered by Redoc as released, under a policy."""

import gzip
import hashlib
import json
import re
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from api.openapi_document import DOCUMENT
from cs.admin.app import build
from cs.admin.docs_page import POLICY, guided, page, write

FOLDER = files("cs.admin").joinpath("docs")
NOTICE = FOLDER.joinpath("NOTICE").read_text()
GUIDE = (Path(__file__).parents[2] / "docs" / "good-client.md").read_text("utf-8")
SCRIPT = gzip.decompress(FOLDER.joinpath("redoc.standalone.js.gz").read_bytes())


class NeverReady:
    async def check(self) -> tuple[bool, dict[str, object]]:
        return False, {}


async def ask(path: str, **headers: str) -> httpx.Response:
    """Ask the admin port, where nothing else is ready."""
    transport = httpx.ASGITransport(build(NeverReady()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


#: What the page shows: the description as it is served, and how to be a good client of it.
SHOWN = json.loads(guided(json.dumps(DOCUMENT).encode(), GUIDE))


def described(html: str) -> object:
    """Return the document that *html* shows."""
    (text,) = re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL
    )
    return json.loads(text)


async def test_the_admin_port_shows_the_description() -> None:
    answer = await ask("/docs")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert described(answer.text) == SHOWN


def test_the_page_adds_to_the_description_how_to_be_a_good_client() -> None:
    (*tags, guide) = SHOWN["tags"]

    assert SHOWN | {"tags": tags} == DOCUMENT
    assert guide["name"] == "Being a good client"
    assert guide["x-traitTag"] is True
    assert "\n## What each failure asks of you\n" in guide["description"]
    assert "[The HTTP API](#tag/Searches)" in guide["description"]
    assert ".md" not in guide["description"]


def test_the_page_has_the_text_of_the_document() -> None:
    assert FOLDER.joinpath("good-client.md").read_text("utf-8") == GUIDE


async def test_the_policy_names_nobody_else_and_nothing_unsafe() -> None:
    told = (await ask("/docs")).headers["content-security-policy"]
    directives = dict(each.strip().split(" ", 1) for each in told.split(";"))

    assert directives["default-src"] == "'none'"
    assert directives["frame-ancestors"] == directives["base-uri"] == "'none'"
    assert "unsafe" not in told
    assert "*" not in told
    assert "http" not in told


@pytest.mark.parametrize("element", ["script", "style"])
def test_the_policy_lets_run_what_the_page_holds(element: str) -> None:
    (inline,) = re.findall(rf"<{element}>(.*?)</{element}>", page(b"{}"), re.DOTALL)
    digest = b64encode(hashlib.sha256(inline.encode()).digest()).decode()

    assert f"'sha256-{digest}'" in POLICY


@pytest.mark.parametrize("text", ["</script><b>", "<!--<script>", "\u2028", "{description}"])
def test_no_text_of_the_description_ends_its_element(text: str) -> None:
    html = page(json.dumps({"info": text}).encode())

    assert described(html) == {"info": text}
    assert html.count("<script") == page(b"{}").count("<script")


@pytest.mark.parametrize(("coding", "sent"), [("gzip", "gzip"), ("identity", None)])
async def test_the_script_comes_as_the_browser_takes_it(coding: str, sent: str | None) -> None:
    answer = await ask("/docs/redoc.standalone.js", **{"accept-encoding": coding})

    assert answer.headers.get("content-encoding") == sent
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.content == SCRIPT


def test_the_script_is_the_released_one_but_for_the_change_that_is_told() -> None:
    logo = re.search(r'"(https://\S+\.svg)", is "(data:,)"', NOTICE)
    told = re.search(r"^sha256 ([0-9a-f]{64}),", NOTICE, re.MULTILINE)
    assert logo is not None
    assert told is not None
    assert SCRIPT.count(b'"data:,"') == 1

    released = SCRIPT.replace(b'"data:,"', f'"{logo[1]}"'.encode())

    assert hashlib.sha256(released).hexdigest() == told[1]


def test_the_licence_goes_with_the_script() -> None:
    assert "The MIT License (MIT)" in NOTICE
    assert "Copyright (c) 2015-present, Rebilly, Inc." in NOTICE


def test_the_files_are_the_page_its_script_and_the_licence(tmp_path: Path) -> None:
    write(tmp_path / "made")

    made = {str(path.relative_to(tmp_path / "made")) for path in tmp_path.rglob("*.*")}
    html = (tmp_path / "made" / "index.html").read_text("utf-8")
    assert made == {"index.html", "docs/redoc.standalone.js"}
    assert (tmp_path / "made" / "docs" / "NOTICE").read_text() == NOTICE
    assert described(html) == SHOWN
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}"' in html
