"""SearXNG's JSON search: one question, its results, and the ways there are none."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from cs.outside.retry_after import retry_after_s
from cs.plugins.sources import Fetcher, Forbidden, Response, SourceStatus, Unreachable

NO_JSON = "SearXNG answers no JSON: add json to search.formats in its settings.yml"
#: Results of one page that are read (SearXNG gives some thirty), and characters of each text.
_RESULTS = 200
_TEXT = 4_000
#: Characters of what a service says of itself that are passed on.
_SAID = 300
#: What engines say when they have had enough of the instance (searx/network, searx/search).
_ENOUGH = ("too many requests", "captcha", "suspended", "access denied")


#: What a word of a query begins with if it is a command to SearXNG, or to an engine behind
#: it: an engine or category (``!images``), another site (``!!g``), the first result
#: (``!!``, ``\\``), a language (``:fr``), a time-out (``<3``), and once more engines (``?``).
#: Quotation marks make no difference to it.  docs.searxng.org, user/search-syntax.
COMMANDS = "!:<?\\！：＜？＼"


def phrase(name: str) -> str | None:
    """Return *name* as a phrase to search for, none of whose words is a command.

    ``None`` if nothing else is in it.  Engines do not look at the punctuation that goes.

    >>> phrase('Yahoo! "Mail" !images'), phrase("<3 Acme :fr !!g !! ?")
    ('"Yahoo! Mail images"', '"3 Acme fr g"')
    """
    words = (word.lstrip(COMMANDS) for word in name.replace('"', " ").split())
    searchable = " ".join(filter(None, words))
    return f'"{searchable}"' if searchable else None


class SearxngResult(msgspec.Struct, frozen=True):
    url: str = ""
    title: str = ""
    content: str | None = None


class SearxngPage(msgspec.Struct, frozen=True):
    """One page of results.

    Attributes:
        unresponsive_engines: Name and reason of each engine that gave nothing.
    """

    results: tuple[SearxngResult, ...] = ()
    unresponsive_engines: tuple[Any, ...] = ()

    @property
    def complaint(self) -> "SearxngRefused | None":
        """Why "no results" means nothing here; ``None`` if it does mean something."""
        if self.results or not self.unresponsive_engines:
            return None
        reasons = "; ".join(" ".join(map(str, _pair(one))) for one in self.unresponsive_engines)
        reasons = reasons[:_SAID]
        enough = any(word in reasons.lower() for word in _ENOUGH)
        ended = SourceStatus.RATE_LIMITED if enough else SourceStatus.FAILED
        return SearxngRefused(ended, f"no search engine answered: {reasons}")


class SearxngRefused(Exception):
    """SearXNG gave no answer; the attributes are those of a `PeopleAnswer`."""

    def __init__(
        self,
        ended: SourceStatus,
        why: str,
        retry_in_s: float | None = None,
        *,
        permanent: bool = False,
    ) -> None:
        super().__init__(why)
        self.ended, self.why, self.retry_in_s = ended, why, retry_in_s
        self.permanent = permanent


class SearxngApi:
    """Asks the instance at *base_url*, which stands without ``/search``."""

    def __init__(self, fetcher: Fetcher, base_url: str, *, now: Callable[[], datetime]) -> None:
        self._fetcher = fetcher
        self._url = f"{base_url.rstrip('/')}/search"
        self._now = now

    async def search(self, text: str) -> SearxngPage:
        """Return the first page of results for *text*.

        Raises:
            SearxngRefused: No answer, or one that is not a page of results.
        """
        params = {"q": text, "format": "json", "categories": "general"}
        try:
            answer = await self._fetcher.get(self._url, params=params)
        except (Unreachable, Forbidden) as error:
            raise SearxngRefused(
                SourceStatus.FAILED, f"SearXNG does not answer: {error}"
            ) from error
        wait_s = retry_after_s(answer.headers, now=self._now())
        match answer.status:
            case 200:
                return _read(answer)
            case 403:
                raise SearxngRefused(SourceStatus.FAILED, NO_JSON, permanent=True)
            case 401:
                raise SearxngRefused(
                    SourceStatus.FAILED, "SearXNG asks for a password", permanent=True
                )
            case 429:
                raise SearxngRefused(SourceStatus.RATE_LIMITED, "SearXNG answers 429", wait_s)
            case status:
                raise SearxngRefused(SourceStatus.FAILED, f"SearXNG answers {status}", wait_s)


def _read(answer: Response) -> SearxngPage:
    try:
        page = msgspec.json.decode(answer.body, type=SearxngPage)
        results = tuple(_cut(result) for result in page.results[:_RESULTS])
        return SearxngPage(results, page.unresponsive_engines[:_RESULTS])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = f"SearXNG answers something that is not its JSON: {error}"
        raise SearxngRefused(SourceStatus.FAILED, why) from error


def _cut(result: SearxngResult) -> SearxngResult:
    content = None if result.content is None else result.content[:_TEXT]
    return SearxngResult(result.url[:_TEXT], result.title[:_TEXT], content)


def _pair(one: object) -> list[object]:
    return one if isinstance(one, list) else [one]
