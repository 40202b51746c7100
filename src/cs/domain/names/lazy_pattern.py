"""A regular expression that is compiled when it is first used."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class LazyPattern:
    r"""For a long one: its methods are those of the `re.Pattern` that `re.compile` would make.

    The patterns that read headlines take 25 ms to compile, and of the commands that import
    them few read a headline.

    Args:
        pattern: The expression, or what makes it: then it is put together when first used.

    >>> part = LazyPattern(r"\s*[|•]\s*")
    >>> part.split("Head of Social | Acme"), part.search("Acme")
    (['Head of Social', 'Acme'], None)
    """

    def __init__(
        self, pattern: str | Callable[[], str], flags: re.RegexFlag = re.NOFLAG
    ) -> None:
        self._written = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        pattern, flags = self._written
        return re.compile(pattern if isinstance(pattern, str) else pattern(), flags)

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.search(text, start)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def split(self, text: str) -> list[str]:
        return self._compiled.split(text)

    def sub(self, replacement: str, text: str) -> str:
        return self._compiled.sub(replacement, text)
