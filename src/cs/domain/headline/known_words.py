"""Which words of a role stand in no table: what they mean for it, no rule knows."""

import unicodedata
from functools import cache

from cs.domain.headline import family_words, role_level, scope_words, time_words, words
from cs.domain.headline.spelling import flat
from cs.domain.names.phrases import Phrases, word_set

#: What stands between words and says nothing of a role.
_LITTLE = word_set(
    """
    a am an and as at com con d da das de degli dei del della delle der des di die do dos du e
    et for für fur för i im in la le med mit na no nos o och of og os pa par per por pour s
    the til till to und van von y zu zum zur и в на по для
    """
)


def unknown_words(role: str) -> tuple[str, ...]:
    """Return the words of *role* that are in no table, folded, in order.

    A word of a phrase is known by itself, too; of what is written without spaces, what no
    phrase covers is a word.

    >>> unknown_words("Social Media Manager Bookkeeping Walruses")
    ('bookkeeping', 'walruses')
    """
    left = _single_words().without(_phrases().without(flat(role)))
    return tuple(
        word
        for word in left.split()
        if len(word) > 1 and word not in _LITTLE and not word.isdigit()
    )


@cache
def _phrases() -> Phrases:
    """Return one table of all, whichever there are: a new one is known at once."""
    modules = (family_words, role_level, scope_words, time_words, words)
    tables = [each for module in modules for each in vars(module).values()]
    return Phrases.of(*(table for table in tables if isinstance(table, Phrases)))


@cache
def _single_words() -> Phrases:
    pieces = (phrase.split("_") for phrase in _phrases().written[0].split())
    return Phrases(" ".join({word for piece in pieces for word in piece if len(word) > 2}))


@cache
def is_of_known_script(letter: str) -> bool:
    """Say whether any language with words here is written with letters such as *letter*."""
    return _script(letter) in _scripts()


@cache
def _scripts() -> frozenset[str]:
    spaced, unspaced = _phrases().written
    return frozenset(map(_script, filter(str.isalpha, {*spaced, *unspaced})))


def _script(letter: str) -> str:
    """Return the script of *letter*: the first word of its name in Unicode, "CYRILLIC"."""
    return unicodedata.name(letter, "").partition(" ")[0]
