"""What a web search's query asks for, and which texts answer it."""

import re
from typing import NamedTuple

import msgspec

from cs.sandbox.folding import Mention, fold

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


class QueryMatcher:
    """A query made ready to be compared with many texts.

    Attributes:
        words_of_phrases: A text that answers has, for each of these, all words of one of its
            sets.
    """

    def __init__(self, query: SearchQuery) -> None:
        self._sites = [
            re.sub(r"^(https?://)?(www\.)?", "", site).partition("/") for site in query.sites
        ]
        self._without = [Mention(value) for value in query.without]
        self._phrases = [[Mention(one) for one in group] for group in query.phrases]
        self.words_of_phrases = [[one.words for one in group] for group in self._phrases]
        self._stems = [fold(word)[:_STEM] for word in query.words]

    def score(self, address: str, folded: str) -> int:
        """Return how well a text answers the query; 0 is not at all.

        Args:
            address: Of the text, as `bare_address` returns it.
            folded: The text, as `fold` returns it.
        """
        host, _, path = address.partition("/")
        if self._sites and not any(
            _under(host, path, wanted, start) for wanted, _, start in self._sites
        ):
            return 0
        if any(unwanted.stands_in(folded) for unwanted in self._without):
            return 0
        if not all(any(one.stands_in(folded) for one in group) for group in self._phrases):
            return 0
        met = sum(stem in folded for stem in self._stems)
        if self._stems and not met:
            return 0
        return 1 + met


def bare_address(url: str) -> str:
    """Return *url* without its scheme and ``www.``."""
    return re.sub(r"^https?://(www\.)?", "", url)


def _under(host: str, path: str, wanted: str, start: str) -> bool:
    """Say whether an address is of a host (or what ends one) with or without a path."""
    of_host = host == wanted or host.endswith(f".{wanted}")
    return of_host and (not start or path == start or path.startswith(f"{start}/"))
