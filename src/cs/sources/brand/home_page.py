"""Names and links that a brand's home page states.  Pure.

A stranger wrote the page: time and memory grow with its length alone, and the length is
bounded.  HTML is read as far as that takes: start tags, and the text of
titles and scripts.  Every character is looked at a fixed number of times, whatever the page is:
possessive patterns never go back, and what is not closed ends the page, as a browser would have
it (the tokenizer of HTML 13.2.5, without its error corrections for what is not read).
"""

import codecs
import html
import re
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

#: Attributes of one tag that are read; the first of a name counts.
ATTRIBUTES = 64
#: Characters of an attribute's value; a longer one is left out.
VALUE = 2_048
#: Signs of "<" in a page that are looked at; what comes behind the last one is left out.
OPENINGS = 150_000
#: A tag that is read takes about as long as so many that are passed over.
_READ_COSTS = 10

_OPENS = re.compile(
    r"<(?:(?P<comment>!--)|(?P<bogus>[!?]|/(?![a-zA-Z]))"
    r"|(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+))"
)
_COMMENT_ENDS, _BOGUS_ENDS = re.compile(r"--!?>"), re.compile(">")
_TAG_ENDS = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+(?:(?P<end>>)|(?P<name>[^\s/>][^\s/>=]*+)"""
    r"""(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"'][^\s>]*+)|))?+)"""
)
#: Elements whose content is text up to their end tag (HTML 13.2.6.2 and 13.2.6.4.7).
_TEXT_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("title", "textarea", "script", "style", "xmp", "iframe", "noembed", "noframes")
}


#: Links of one page that are looked at; the last ones are kept, footers are at the end.
LINKS = 2_000
#: Characters of one script of JSON-LD, and of all of a page; the rest is left out.
DATA = 256 * 1024
#: Organizations that a page may state.
ORGANIZATIONS = 50
_NAME_LENGTH = 120  # longer is no name
_TITLE_READ = 1_024  # characters of a title, of which entities take ten for one
_META_SEARCHED = 1024  # bytes in which a page declares its encoding (HTML 13.2.3.2)
#: A page that names its next one: at once, or within seconds for those who read.
_REFRESH = re.compile(
    r"\s*+[0-5](?:\.\d{0,3})?\s*+[;,]\s*+(?:url\s*+=)?\s*+['\"]?(?P<url>[^'\"]++)",
    re.IGNORECASE,
)
#: A page that leads on has no more links than this: "if nothing happens, click here".
_LEADING_ON = 2
_SOCIAL = re.compile(
    r"(?:https?:)?//(?:[a-z0-9-]{1,20}\.)?(?:instagram|tiktok|linkedin)\.com"
    r"(?:/[^\s\"'`<>\\/]{1,100}){1,3}",
    re.IGNORECASE,
)
_COPYRIGHT = re.compile(r"©|&copy;?|&#169;|&#xa9;|\bcopyright\b", re.IGNORECASE)
_COPYRIGHTS = 5  # signs of one page that are looked at, the last ones
_COPYRIGHT_READ = 300  # characters behind one, tags among them
#: Characters of one search, and more than the longest match of both patterns above.
_SEARCHED, _LONGEST = 64 * 1024, 512
_TAG = re.compile(r"<[^<>]*>")
#: The encodings of the web (Encoding Standard, 4.2), as Python calls them.  Others are not
#: asked for: some take time by the square of the length ("punycode", "idna").
_ENCODINGS = frozenset(
    {
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "cp866"),
        *(f"iso8859-{part}" for part in range(1, 17)),
        *(f"cp{page}" for page in (874, 932, 949, 950, *range(1250, 1259))),
        *("mac-roman", "mac-cyrillic", "gbk", "gb2312", "gb18030", "big5", "big5hkscs"),
        *("euc_jp", "iso2022_jp", "shift_jis", "euc_kr", "tis-620"),
    }
)


class HomePage(msgspec.Struct, frozen=True, kw_only=True):
    """Names may be missing or empty of sense; links are as written, in page order."""

    title: str | None = None
    site_name: str | None = None  # og:site_name
    organization: str | None = None  # name of the Organization in JSON-LD
    stated: tuple[str, ...] = ()  # its other pages, as such: JSON-LD sameAs, rel=me
    links: tuple[str, ...] = ()  # without those of who made the page
    scripted: tuple[str, ...] = ()  # social pages within scripts, which draw the footer later
    parents: tuple[str, ...] = ()  # parentOrganization in JSON-LD
    copyright: tuple[str, ...] = ()  # what stands behind "©", without tags
    refresh: str | None = None  # where a page sends its reader at once that has no more


def decode(body: bytes, content_type: str) -> str:
    """Return *body* as text: by its header, by its own word, as UTF-8, else as Latin."""
    head = body[:_META_SEARCHED].decode("latin-1")
    declared = (_charset(content_type), _charset(head), "utf-8")
    for name in filter(None, declared):
        try:
            if codecs.lookup(name).name in _ENCODINGS:
                return body.decode(name)
        except (LookupError, UnicodeError):
            continue
    return body.decode("cp1252", "replace")


def read_home_page(page: str) -> HomePage:  # noqa: C901 - a match
    """Return what *page*, a text of HTML, says; never raises, whatever it is."""
    title: str | None = None
    site_name, refresh = "", None
    links: deque[str] = deque(maxlen=LINKS)
    scripted: deque[str] = deque(maxlen=LINKS)
    stated: list[str] = []
    data: list[str] = []
    left = DATA
    for tag in tags(page, frozenset({"a", "area", "link", "title", "meta", "script"})):
        attributes = tag.attributes
        match tag.name:
            case "a" | "area" | "link" if href := attributes.get("href"):
                if _is_stated(attributes):
                    stated.append(href)
                elif tag.name != "link":
                    links.append(href)
            case "title" if title is None:  # an SVG further down has titles, too
                is_short = len(tag.text.strip()) <= _TITLE_READ
                title = html.unescape(tag.text[:_TITLE_READ]) if is_short else ""
            case "meta":
                content = attributes.get("content", "")
                match attributes.get("property", attributes.get("name")):
                    case "og:site_name":
                        site_name = site_name or content
                    case "og:see_also":
                        stated.append(content)
                    case _ if attributes.get("http-equiv", "").lower() == "refresh":
                        found = _REFRESH.match(content)
                        refresh = refresh or (found["url"].strip() if found else None)
            case "script" if attributes.get("type", "").lower() == "application/ld+json":
                if len(tag.text) <= left:
                    left -= len(tag.text)
                    data.append(tag.text)
            case "script":
                scripted.extend(_written_in(tag.text))
            case _:
                pass
    organizations = list(islice(chain.from_iterable(map(_organizations, data)), ORGANIZATIONS))
    same_as = (url for org in organizations for url in _texts(org.get("sameAs")))
    short = (url for url in (*same_as, *stated) if len(url) <= VALUE)
    parents = (name for org in organizations for name in _names(org.get("parentOrganization")))
    return HomePage(
        title=_one_line(title or ""),
        site_name=_one_line(site_name),
        organization=next((name for org in organizations for name in _names(org)), None),
        stated=tuple(islice(short, LINKS)),
        links=tuple(links),
        scripted=tuple(scripted),
        parents=tuple(parents),
        copyright=tuple(_behind_copyright(page)),
        refresh=refresh if len(links) <= _LEADING_ON and not stated else None,
    )


def _is_stated(attributes: Mapping[str, str]) -> bool:
    """Say whether a link is said to lead to the same one's page elsewhere."""
    return "me" in attributes.get("rel", "").lower().split() or (
        "sameas" in attributes.get("itemprop", "").lower().split()
    )


def _written_in(script: str) -> Iterator[str]:
    """Yield the social pages whose addresses *script* has, its slashes escaped or not."""
    for escaped in ("\\/", "\\u002F", "\\u002f"):
        script = script.replace(escaped, "/")
    yield from (found[0] for found in _found(_SOCIAL, script))


def _behind_copyright(page: str) -> Iterator[str]:
    """Yield the words behind the last signs of copyright, tags left out."""
    signs = deque(_found(_COPYRIGHT, page), maxlen=_COPYRIGHTS)
    for sign in signs:
        text = _TAG.sub(" ", page[sign.end() : sign.end() + _COPYRIGHT_READ])
        line = _one_line(html.unescape(text.partition("<")[0])[:_NAME_LENGTH])
        if line is not None:
            yield line


def _found(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield where *pattern* is found in *text*, by short searches.

    No other thread runs during a search, and one of 2 MiB may take 0.4 s.
    """
    for start in range(0, len(text), _SEARCHED):
        end = start + _SEARCHED
        for found in pattern.finditer(text, start, end + _LONGEST):
            if found.start() < end:
                yield found


def _organizations(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the organizations in one JSON-LD script, none of those within another."""
    try:
        left = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    while left:
        match left.pop():
            case list() as nodes:
                left.extend(reversed(nodes))
            case {"@graph": graph}:
                left.append(graph)
            case dict() as node if any(map(_is_organization, _texts(node.get("@type")))):
                yield node
            case {"publisher": dict() as publisher}:
                left.append(publisher)
            case _:
                pass


def _names(node: Any) -> tuple[str, ...]:
    """Return the names of *node*, an organization or several."""
    match node:
        case {"name": str(name)}:
            line = _one_line(name)
            return () if line is None else (line,)
        case list():
            return tuple(name for each in node for name in _names(each))
        case _:
            return ()


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


def _charset(text: str) -> str | None:
    _, found, rest = text.lower().partition("charset=")
    name = rest.lstrip("\"' ")[:40]
    end = next((n for n, char in enumerate(name) if not (char.isalnum() or char in "-_")), None)
    return name[:end] or None if found else None


class Tag(NamedTuple):
    """A start tag with its attributes, names in lower case, values with entities decoded."""

    name: str
    attributes: dict[str, str]
    text: str = ""  # of an element whose content is text, entities as they are written


def tags(page: str, names: frozenset[str]) -> Iterator[Tag]:
    """Yield the start tags called *names* in *page*, in its order."""
    at = 0
    left = OPENINGS
    # One short match after the other: another thread may have its turn between them.
    while left > 0 and (at := page.find("<", at)) >= 0:
        left -= 1
        opens = _OPENS.match(page, at)
        if opens is None:
            at += 1
            continue
        at = opens.end()
        if opens["name"] is None:
            ends = (_COMMENT_ENDS if opens["comment"] else _BOGUS_ENDS).search(
                page, opens.start() + 2
            )
            if ends is None:
                return
            at = ends.end()
            continue
        name = opens["name"].lower()
        wanted = name in names and not opens["close"]
        attributes: dict[str, str] = {}
        end = _read_attributes(page, at, attributes) if wanted else _skip_attributes(page, at)
        if not end:
            return
        at, text = end, ""
        if not opens["close"] and name in _TEXT_ENDS:
            ends = _TEXT_ENDS[name].search(page, at)
            if ends is None:
                return
            text, at = page[at : ends.start()] if wanted else "", ends.end()
        if wanted:
            left -= _READ_COSTS + len(attributes)
            yield Tag(name, attributes, text)


def _skip_attributes(page: str, at: int) -> int:
    """Return where the tag ends whose name ends at *at*; 0 if it does not."""
    found = _TAG_ENDS.match(page, at)
    return found.end() if found else 0


def _read_attributes(page: str, at: int, into: dict[str, str]) -> int:
    """Read the attributes from *at* on; return where their tag ends, 0 if it does not."""
    for _ in range(ATTRIBUTES):
        found = _ATTRIBUTE.match(page, at)
        if found is None:
            return 0
        at = found.end()
        if found["end"]:
            return at
        value = found["double"] or found["single"] or found["bare"] or ""
        if len(value) <= VALUE and len(found["name"]) <= VALUE:
            into.setdefault(found["name"].lower(), html.unescape(value))
    return _skip_attributes(page, at)
