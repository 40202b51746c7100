"""Headlines in scripts without spaces: where the employer ends and the role begins."""

import re

from cs.domain.headline import family_words, role_level, scope_words, words
from cs.domain.headline.role_family import Family, family_named, is_creator
from cs.domain.names.lazy_pattern import LazyPattern
from cs.domain.names.plain_text import folded

_EAST_ASIAN = LazyPattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TABLES = (
    family_words.INFLUENCER,
    family_words.SOCIAL,
    family_words.PARTNERSHIPS,
    family_words.BRAND,
    family_words.OTHER_WORK,
    words.CALLING,
    role_level.LEVEL_WORDS,
    scope_words.TRADE,
    scope_words.PLACE,
)
_NOT_WORD = re.compile(r"[\W_]")
_LOOSE = " 　,、:・-/"


def _is_trade(text: str) -> bool:
    return family_named(text) is not Family.OTHER or scope_words.is_scope(text)


def split_firm(role: str) -> tuple[str | None, str]:
    """Return the employer written before *role* without a mark, and the rest.

    What precedes the first word of any trade, place or level is the employer's name.

    >>> split_firm("資生堂 ブランドマネージャー")
    ('資生堂', 'ブランドマネージャー')
    """
    if not _EAST_ASIAN.search(role):
        return None, role
    left, slash, right = role.rpartition("/")
    if slash and role_level.has_level(left) and not _is_trade(right):
        return right.strip(_LOOSE), left.strip(_LOOSE)
    text = _NOT_WORD.sub(" ", folded(role))
    if len(text) != len(role):
        return None, role
    start = min((at for table in _TABLES if (at := table.first(text)) is not None), default=0)
    firm = role[:start].strip(_LOOSE)
    if len(firm) < 2 or not role[start:] or is_creator(role) or _is_trade(firm):
        return None, role
    return firm, role[start:].strip(_LOOSE)
