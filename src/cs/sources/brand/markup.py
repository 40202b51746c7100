"""HTML as far as a home page is read: start tags, and the text of titles and scripts.  Pure.

Every character is looked at a fixed number of times, whatever the page is: possessive
patterns never go back, and what is not closed ends the page, as a browser would have it
(the tokenizer of HTML 13.2.5, without its error corrections for what we do not read).
"""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

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
_COMMENT_ENDS = re.compile(r"--!?>")
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
            end = (
                _after(_COMMENT_ENDS, page, opens.start() + 2)
                if opens["comment"]
                else page.find(">", at) + 1
            )
            if not end:
                return
            at = end
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


def _after(pattern: re.Pattern[str], page: str, at: int) -> int:
    found = pattern.search(page, at)
    return found.end() if found else 0


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
