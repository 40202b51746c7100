"""The description of the API as a page for people: on the admin port, or as files.

How to be a good client stands behind it, on the same page.  Redoc renders both in the
reader's browser.  The page asks nobody but its own host for anything,
and its policy lets it run nothing but Redoc and the script it is served with.

``python -m cs.admin.docs_page FOLDER`` writes the page as files that any web server can serve.
"""

import gzip
import json
import re
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PAGE_PATH = "/docs"
SCRIPT_PATH = "/docs/redoc.standalone.js"

_FOLDER = files("cs.admin").joinpath("docs")
#: The Content-Security-Policy under which the page works, and no more than it.  It names the
#: script and the style of `page.html`, and the styles that Redoc adds: an element it fills by
#: script later, and the colours of its samples.
POLICY = (
    "default-src 'none'; "
    "script-src 'self' 'sha256-9PnvtvIy/pGMFMs3Ec1Ap4AUGGQm4M9aqJj6Psm0X1g='; "
    "style-src 'sha256-dz2mf3fouAJ+tKuKnrFXTX6gpczCGsNJ3iKNv+fl87Y=' "
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


def guided(described: bytes, guide: str) -> bytes:
    """Return *described*, an OpenAPI document in JSON, with *guide* as its last section.

    *guide* is Markdown.  The HTTP API that it links to is on the same page; of documents that
    are not, only the names are left.
    """
    heading, _, text = guide.partition("\n")
    text = text.replace("](http-api.md)", "](#tag/Searches)")
    section = {
        "name": heading.removeprefix("# "),
        "description": re.sub(r"\[([^]]+)]\([\w-]+\.md\)", r"\1", text),
        "x-traitTag": True,
    }
    document = json.loads(described)
    return json.dumps(document | {"tags": [*document["tags"], section]}).encode()


def docs_routes() -> list[Route]:
    """Return the routes of the page and of the script that renders it."""
    return [Route(PAGE_PATH, _get_page), Route(SCRIPT_PATH, _get_script)]


def page(described: bytes) -> str:
    """Return the page that shows *described*, an OpenAPI document in JSON."""
    # In a script element `<` is no markup but in `</script` and `<!--`; in JSON it is only in
    # strings, where it may be written so.
    text = described.decode().replace("<", "\\u003c")
    template = _FOLDER.joinpath("page.html").read_text(encoding="utf-8")
    return template.replace("{description}", text)


def write(folder: Path) -> None:
    """Write the page into *folder*, made if need be: `index.html` and what it loads."""
    html = _whole_page()
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    script = folder / SCRIPT_PATH.removeprefix("/")
    script.parent.mkdir(parents=True, exist_ok=True)
    charset = '<meta charset="utf-8">'
    (folder / "index.html").write_text(html.replace(charset, f"{charset}\n{meta}", 1), "utf-8")
    script.write_bytes(gzip.decompress(_packed_script()))
    notice = _FOLDER.joinpath("NOTICE").read_bytes()
    script.with_name("NOTICE").write_bytes(notice)


async def _get_page(_: Request) -> Response:
    html = _whole_page()
    headers = {
        "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(html, headers=headers, media_type="text/html")


async def _get_script(request: Request) -> Response:
    headers = {
        "Cache-Control": "public, max-age=3600",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if "gzip" not in request.headers.get("accept-encoding", ""):
        script = gzip.decompress(_packed_script())
        return Response(script, headers=headers, media_type="text/javascript")
    headers["Content-Encoding"] = "gzip"
    return Response(_packed_script(), headers=headers, media_type="text/javascript")


# Read when somebody asks for the page: a service that starts needs none of it.


@cache
def _whole_page() -> str:
    described = files("cs.api").joinpath("openapi.json").read_bytes()
    # The same text as docs/good-client.md, for where only the package is.
    guide = _FOLDER.joinpath("good-client.md").read_text(encoding="utf-8")
    return page(guided(described, guide))


@cache
def _packed_script() -> bytes:
    return _FOLDER.joinpath("redoc.standalone.js.gz").read_bytes()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
