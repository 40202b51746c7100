"""Where a role ends and its employer begins, within one part of a headline."""

import re
from itertools import islice

from cs.domain.headline import words
from cs.domain.headline.role_family import Family, family_named
from cs.domain.headline.role_level import has_level, is_bare
from cs.domain.headline.scope_words import is_firm, is_place, is_scope, looks_like_a_name
from cs.domain.names.plain_text import flat

_NEXT_ROLE = re.compile(r"\s*(?:,|&|\+|\band\b|\bund\b|\bet\b|\by\b)\s+", re.IGNORECASE)
_AFTER_FIRM = re.compile(
    r"\s(?:in|where|who|leading|responsible|driving|helping|building|with|based|since)\s|\s?\(",
    re.IGNORECASE,
)
LEGAL = re.compile(
    r"^,?\s*(?:inc|llc|ltd|limited|gmbh|s\.?a|co|corp|plc|s\.?l|s\.?p\.?a)\b\.?", re.IGNORECASE
)


def split_at(text: str) -> tuple[str, str | None, str]:
    """Split *text* into a role, its employer if one is marked, and what comes after."""
    after = words.AT_AFTER.match(text)
    if after and has_level(after["role"]) and not is_work(after["company"]):
        return after["role"], after["company"].strip(), ""
    hit = words.AT.search(text)
    if hit is None:
        return (*_perhaps_at(text), "")
    role, firm = text[: hit.start()].strip(" ,-–:"), text[hit.end() :].strip()
    if not role:
        head, _, tail = firm.partition(" ")
        if has_level(tail) and not has_level(head):
            return tail, head, ""
        return "", firm, ""
    company, rest = _firm(firm)
    return role, company, rest


def _firm(text: str) -> tuple[str, str]:
    """Split what follows "at" into the employer and a role named after it."""
    for hit in _NEXT_ROLE.finditer(text):
        rest = text[hit.end() :]
        if hit[0].strip() == ",":
            legal = LEGAL.match(text[hit.start() :].strip())
            if legal:
                continue
            return _cut(text[: hit.start()]), rest
        if words.AT.search(rest) and has_level(words.AT.split(rest)[0]):
            return _cut(text[: hit.start()]), rest
    return _cut(text), ""


def _cut(company: str) -> str:
    return _AFTER_FIRM.split(company, maxsplit=1)[0].strip(" ,.-–:")


def _perhaps_at(text: str) -> tuple[str, str | None]:
    """As `split_at`, for little words that also stand within titles."""
    hits = list(islice(words.PERHAPS_AT.finditer(text), 8))
    for hit in sorted(hits, key=lambda hit: hit["little"] in _OF):
        role, firm = text[: hit.start()], text[hit.end() :].strip()
        if is_bare(role) or not (has_level(role) or words.CALLING.found(flat(role))):
            continue
        if is_place(firm) or hit["little"] == "in":
            if hit["little"] in {"in", "en", "em", "w"} and not is_work(firm):
                return role, None
        elif looks_like_a_name(firm) and not is_work(firm):
            return role, firm
    founder = _OF_FIRM.match(text)
    if founder:
        return founder["role"], founder["firm"]
    return text, None


#: These mostly stand within a title, "Directora de Marca": asked last.
_OF = frozenset({"de", "da", "do", "di", "du", "del", "della", "dell'", "dello", "von", "van"})
_OF_FIRM = re.compile(
    r"(?P<role>.*(?<!\w)(?:founder|owner|CEO|fondateur|fondatrice|gründer|gründerin|fundador|"
    r"fundadora|inhaberin?|fondatore|oprichter|PDG|directora? general)(?:\s&\s\w+)?)"
    r"\s(?:of|de|der|von|di|van)\s(?P<firm>\S.*)$",
    re.IGNORECASE,
)


def is_work(text: str) -> bool:
    """Say whether *text* speaks of a role or a line of work and not of a firm."""
    if is_firm(text) and not is_scope(text):
        return False
    return is_scope(text) or has_level(text) or family_named(text) is not Family.OTHER
