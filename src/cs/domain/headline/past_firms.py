"""The firms that a headline says its writer has left: "formerly at Acme"."""

import re

from cs.domain.headline import time_words, words
from cs.domain.names.plain_text import plain

_PIECES = re.compile(r"[,;/&+|•·()\[\]]|\s(?:and|und|et|y|e|og|och|en|i|[-–—])\s")
#: Characters behind a word for the past in which the firm of then is named.
_BEHIND = 80


def past_firms(headline: str) -> tuple[str, ...]:
    """Return what may be a firm of the past, as written, in order.

    >>> past_firms("Head of Social, formerly at Acme, Zeta")
    ('Acme', 'Zeta')
    """
    firms: list[str] = []
    written = plain(headline)
    for former in time_words.FORMER.finditer(written):
        behind = written[former.end() : former.end() + _BEHIND].partition("|")[0]
        now = time_words.NOW.search(behind)
        for piece in _PIECES.split(behind[: now.start()] if now else behind):
            at = words.AT.search(piece)
            firms.append((piece[at.end() :] if at else piece).strip(" .:"))
    return tuple(filter(None, firms))
