"""What a brand's home page says of the brand: names and links.  Pure."""

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import msgspec

#: Links of one page that are looked at; the last ones are kept, footers are at the end.
LINKS = 2_000
_PIECE = 16 * 1024  # characters fed at once
_TAG = 64 * 1024  # a tag that is not closed by then is none; keeps the time linear
_NAME_LENGTH = 120  # longer is no name
_META_SEARCHED = 1024  # bytes in which a page declares its encoding (HTML 13.2.3.2)


class HomePage(msgspec.Struct, frozen=True, kw_only=True):
    """Names may be missing or empty of sense; links are as written, in page order."""

    title: str | None = None
    site_name: str | None = None  # og:site_name
    organization: str | None = None  # name of the Organization in JSON-LD
    same_as: tuple[str, ...] = ()  # its other pages, JSON-LD sameAs
    links: tuple[str, ...] = ()


def decode(body: bytes, content_type: str) -> str:
    """Return *body* as text: by its header, by its own word, as UTF-8, else as Latin."""
    declared = (_charset(content_type), _charset(_head(body)), "utf-8")
    for name in filter(None, declared):
        try:
            return body.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return body.decode("cp1252", "replace")


def read_home_page(html: str) -> HomePage:
    """Return what *html* says; never raises, whatever it is."""
    reader = _Reader()
    for start in range(0, len(html), _PIECE):
        reader.feed(html[start : start + _PIECE])
        reader.give_up_on_tag()
    organizations = [org for text in reader.data for org in _organizations(text)]
    names = [
        _one_line(name) for org in organizations if isinstance(name := org.get("name"), str)
    ]
    return HomePage(
        title=_one_line("".join(reader.title)),
        site_name=_one_line(reader.site_name),
        organization=next(filter(None, names), None),
        same_as=tuple(url for org in organizations for url in _texts(org.get("sameAs"))),
        links=tuple(reader.links[-LINKS:]),
    )


class _Reader(HTMLParser):
    """Collects while parsing.  Never closed: what is unfinished at the end is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.site_name = ""
        self.links: list[str] = []
        self.data: list[str] = []
        self._inside: str | None = None  # "title", "data" or neither
        self._titled = False

    def give_up_on_tag(self) -> None:
        """Drop the tag being read if it is absurdly long; scripts may be long."""
        if len(self.rawdata) > _TAG and self.cdata_elem is None:
            self.rawdata = ""

    def parse_marked_section(self, i: int, report: bool = True) -> int:  # noqa: ARG002
        """Skip ``<![if ...]>`` and its like up to ">", as browsers do.

        The one of the standard library raises AssertionError for some of them.
        """
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        match tag:
            case "a" if "href" in given:
                self.links.append(given["href"])
            case "title" if not self._titled:  # an SVG further down has titles, too
                self._inside, self._titled = "title", True
            case "meta" if given.get("property", given.get("name")) == "og:site_name":
                self.site_name = self.site_name or given.get("content", "")
            case "script" if given.get("type", "").lower() == "application/ld+json":
                self._inside = "data"
                self.data.append("")
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag in {"title", "script"}:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title.append(data)
        elif self._inside == "data":
            self.data[-1] += data


def _organizations(text: str) -> list[Mapping[str, Any]]:
    """Return the organizations in one JSON-LD script, the outermost first."""
    try:
        return list(_walk(msgspec.json.decode(text)))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _walk(node: Any) -> Iterator[Mapping[str, Any]]:
    match node:
        case list():
            for part in node:
                yield from _walk(part)
        case {"@graph": graph}:
            yield from _walk(graph)
        case dict() if any(_is_organization(kind) for kind in _texts(node.get("@type"))):
            yield node
        case {"publisher": dict(publisher)}:
            yield from _walk(publisher)
        case _:
            return


def _is_organization(kind: str) -> bool:
    """Say whether *kind* is schema.org's Organization or one of those below it."""
    return kind.endswith(("Organization", "Corporation", "Brand", "Business", "Store"))


def _texts(value: Any) -> tuple[str, ...]:
    match value:
        case str():
            return (value,)
        case list():
            return tuple(text for text in value if isinstance(text, str))
        case _:
            return ()


def _one_line(text: str) -> str | None:
    line = " ".join(text.split())
    return line if 0 < len(line) <= _NAME_LENGTH else None


def _head(body: bytes) -> str:
    return body[:_META_SEARCHED].decode("latin-1")


def _charset(text: str) -> str | None:
    _, found, rest = text.lower().partition("charset=")
    name = rest.lstrip("\"' ")[:40]
    end = next((n for n, char in enumerate(name) if not (char.isalnum() or char in "-_")), None)
    return name[:end] or None if found else None
