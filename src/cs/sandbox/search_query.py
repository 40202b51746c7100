"""What a web search's query asks for, and which texts answer it."""

import re
from typing import NamedTuple

import msgspec

from cs.sandbox.folding import fold, mentions

_TERM = re.compile(r'(?P<minus>-)?(?:site:(?P<site>\S+)|"(?P<phrase>[^"]*)"|(?P<word>\S+))')
_MAX_TERMS = 64
_STEM = 6


#: Words of a query that SearXNG takes for itself, quoted or not: ``!images`` and ``?images``
#: (engines), ``!!`` and ``!!g`` (away to another site), ``:fr`` (a language), ``<3`` (a
#: time-out in s).  It knows engines and languages by name, of which these are the forms.
_COMMAND = re.compile(r"!!\S*|[!?][a-z][\w-]*|:[a-z]{2,3}([-_]\w+)?|<[0-9]+", re.IGNORECASE)


class Commands(NamedTuple):
    """What is left of a query without its commands, and what those say.

    ``away``: the answer is a redirect to another site.  ``elsewhere``: other engines than
    those of the web are asked.
    """

    text: str
    away: bool
    elsewhere: bool


def read_commands(text: str) -> Commands:
    """Part *text* as SearXNG does before any engine sees it.

    >>> read_commands('"Acme !images" :fr <3 shoes')
    Commands(text='"Acme !images" shoes', away=False, elsewhere=False)
    >>> read_commands('"Acme !images shoes"').elsewhere, read_commands("Acme !!g").away
    (True, True)
    """
    words = text.split()
    taken = [word for word in words if _COMMAND.fullmatch(word)]
    return Commands(
        " ".join(word for word in words if word not in taken),
        away=any(word.startswith("!!") for word in taken),
        elsewhere=any(word[0] in "!?" for word in taken),
    )


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query read leniently, as search engines do.

    ``phrases`` must all be met; each is a group of which one phrase is enough (``OR``).
    Of ``words`` one is enough; of ``sites`` too; nothing of ``without`` may stand.
    """

    sites: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def read_query(text: str) -> SearchQuery:
    """Read *text*; only its first 64 terms count.

    >>> query = read_query('site:linkedin.com/in "Acme" (influencer OR "social media") -intern')
    >>> query.sites, query.phrases, query.words, query.without
    (('linkedin.com/in',), (('Acme',),), ('influencer', 'social media'), ('intern',))
    """
    sites: list[str] = []
    groups: list[list[tuple[str, bool]]] = []
    without: list[str] = []
    joined = False
    # Brackets group; OR between terms says the same, so they are only separators here.
    for term in list(_TERM.finditer(text.replace("(", " ").replace(")", " ")))[:_MAX_TERMS]:
        value = term["phrase"] if term["phrase"] is not None else term["word"]
        if term["site"]:
            sites.append(term["site"].strip('"').rstrip("/"))
        elif term["word"] in {"OR", "|"}:
            joined = True
            continue
        elif term["word"] == "AND" or not value:
            continue
        elif term["minus"]:
            without.append(value)
        elif joined and groups:
            groups[-1].append((value, term["phrase"] is not None))
        else:
            groups.append([(value, term["phrase"] is not None)])
        joined = False
    firm = [group for group in groups if all(quoted for _, quoted in group)]
    loose = [value for group in groups if group not in firm for value, _ in group]
    return SearchQuery(
        sites=tuple(sites),
        phrases=tuple(tuple(value for value, _ in group) for group in firm),
        words=tuple(loose),
        without=tuple(without),
    )


def matches(query: SearchQuery, url: str, text: str) -> int:
    """Return how well *text* at *url* answers *query*; 0 is not at all."""
    address = re.sub(r"^https?://(www\.)?", "", url)
    if query.sites and not any(_under(address, site) for site in query.sites):
        return 0
    if any(mentions(text, value) for value in query.without):
        return 0
    if not all(any(mentions(text, one) for one in group) for group in query.phrases):
        return 0
    words = fold(text)
    met = sum(fold(word)[:_STEM] in words for word in query.words)
    if query.words and not met:
        return 0
    return 1 + met


def _under(address: str, site: str) -> bool:
    """Say whether *address* is of *site*, a host (or what ends one) with or without a path."""
    host, _, path = address.partition("/")
    wanted, _, start = re.sub(r"^(https?://)?(www\.)?", "", site).partition("/")
    of_host = host == wanted or host.endswith(f".{wanted}")
    return of_host and (not start or path == start or path.startswith(f"{start}/"))
