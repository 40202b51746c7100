"""Where a role ends and its employer begins, within one part of a headline."""

import re
from itertools import islice

from cs.domain.headline import words
from cs.domain.headline.family_words import FOUNDER
from cs.domain.headline.role_family import Family, family_named, is_bare
from cs.domain.headline.role_level import has_level
from cs.domain.headline.roundabout import firm_first
from cs.domain.headline.scope_words import (
    is_firm,
    is_offer,
    is_place,
    is_scope,
    looks_like_a_name,
    title_words_left,
)
from cs.domain.headline.spelling import flat
from cs.domain.names.phrases import Phrases

_NEXT_ROLE = re.compile(r"\s*(?:,|&|\+|\band\b|\bund\b|\bet\b|\by\b)\s+", re.IGNORECASE)
_AFTER_FIRM = re.compile(
    r"\s(?:in|where|who|leading|responsible|driving|helping|building|with|based|since)\s|\s?\(",
    re.IGNORECASE,
)
#: "At a beauty brand": a firm, and no name.
_NO_NAME = re.compile(r"(?:an?|une?|eine[mnrs]?|una|uno|um|uma|een)\s[a-z]")
LEGAL = re.compile(
    r"^,?\s*(?:inc|llc|ltd|limited|gmbh|s\.?a|co|corp|plc|s\.?l|s\.?p\.?a)\b\.?", re.IGNORECASE
)


def split_at(text: str) -> tuple[str, str | None, str]:
    """Split *text* into a role, its employer if one is marked, and what comes after."""
    after = words.AT_AFTER.match(text)
    if after and has_level(after["role"]) and not is_work(after["company"]):
        return after["role"], after["company"].strip(), ""
    if first := firm_first(text):
        return *first, ""
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
    return role, company or None, rest


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
    cut = _AFTER_FIRM.split(company, maxsplit=1)[0].strip(" ,.-–:")
    return "" if _NO_NAME.match(cut) else cut


def _perhaps_at(text: str) -> tuple[str, str | None]:
    """As `split_at`, for little words that also stand within titles."""
    hits = list(islice(words.PERHAPS_AT.finditer(text), 8))
    for hit in sorted(hits, key=lambda hit: hit["little"] in _OF):
        role, firm = text[: hit.start()], text[hit.end() :].strip()
        if hit["little"] in _OF and "," in role:
            continue
        if "," in firm and looks_like_a_name(firm.partition(",")[0]):
            firm = firm.partition(",")[0] if is_offer(firm.partition(",")[2]) else firm
        if not _holds_role(role, hit["little"]):
            continue
        before_place = hit["little"] == "in" and not _is_employer_in_italian(role, firm)
        if is_place(firm) or before_place:
            if is_place(firm) or (hit["little"] in _WITHIN and not is_work(firm)):
                return role, None
        elif (
            hit["little"] not in _BEFORE_PLACES
            and (looks_like_a_name(firm) or _is_name_in_latin(hit["little"], firm))
            and not is_work(firm)
        ):
            return role, firm
    if joined := _JOINED_AT.search(text):
        role = text[: joined.start()]
        if has_level(role) or words.CALLING.found(flat(role)):
            return role, joined["before"] or joined["after"]
    owned = _OF_LEGAL.match(text)
    if owned and has_level(owned["role"]) and not has_level(owned["firm"]):
        return owned["role"], owned["firm"]
    founder = _OF_FIRM.match(text)
    if founder and _NO_NAME.match(founder["firm"]):
        return founder["role"], None
    if founder:
        return founder["role"], founder["firm"]
    return text, None


def _is_employer_in_italian(role: str, firm: str) -> bool:
    """Say whether "in" stands before an employer: towns have "a" there, and lands are known."""
    return _ITALIAN.found(flat(role)) and looks_like_a_name(firm)


#: Words of roles that only Italian has.
_ITALIAN = Phrases(
    "responsabile direttore direttrice dirigente addett* impiegat* referente comunicazione "
    "marchio marchi stagista capo coordinatore coordinatrice collaborazioni"
)


def _is_name_in_latin(little: str, firm: str) -> bool:
    """Say whether *firm* is one Latin word after a word of another script: "у monobank"."""
    return firm.isascii() and " " not in firm and little[-1] > _LAST_LATIN


_LAST_LATIN = "\u024f"
#: Before a place, and no employer: "yoga à Lyon".
_BEFORE_PLACES = frozenset({"à", "a"})
#: Before an employer also where the role is a level and nothing else.
_ONLY_AT = frozenset({"på"})
_WITHIN = frozenset({"in", "en", "em", "w"})
#: Written together with the employer's name: Hebrew before it, Hungarian after it.
_JOINED_AT = re.compile(
    r"\sב(?:-|(?!כיר|ינלאומי|תחום|ניהול|חברת|אגף|מחלקת))(?P<before>[א-ת]{2}[^,|]*|[A-Z][^,|]*)$"
    r"|\s(?:az?\s)?(?P<after>[^\W\d_a-zà-ÿ][^,|]*?)-?(?:nál|nél)$"
)


def _holds_role(text: str, little: str) -> bool:
    if is_bare(text):
        return little in _ONLY_AT or (FOUNDER.found(flat(text)) and little in _OF)
    return has_level(text) or words.CALLING.found(flat(text))


#: "Markenmanagerin der Acme GmbH": a legal form tells whose.
_OF_LEGAL = re.compile(
    r"(?P<role>[^,]+?)\s(?:der|des)\s"
    r"(?P<firm>(?:[A-ZÀ-ÖØ-Þ0-9&][\w'’&.-]*\s){1,5}"
    r"(?:GmbH|AG|SE|KG|KGaA|OHG|eG)\b.*)$"
)
#: These mostly stand within a title, "Directora de Marca": asked last.
_OF = frozenset({"de", "da", "do", "di", "du", "del", "della", "dell'", "dello", "von", "van"})
_OF_FIRM = re.compile(
    r"(?P<role>.*(?<!\w)(?:founder|owner|CEO|fondateur|fondatrice|gründer|gründerin|fundador|"
    r"fundadora|inhaberin?|fondatore|oprichter|PDG|directora? general)(?:\s&\s\w+)?)"
    r"\s(?:(?:of|de|der|von|di|van)\s|d['’])(?P<firm>\S.*)$",
    re.IGNORECASE,
)


def named_last(text: str) -> str | None:
    """Return the name at the end of what is not one: "influencer platform Upfluence"."""
    last = text.rpartition(" ")[2]
    return last if looks_like_a_name(last) and not is_work(last) else None


def last_name(role: str) -> tuple[str, str | None]:
    """Split *role* from an employer that follows it unmarked: "Social Media Manager Wendy's".

    All before the name must be words of titles, so that nothing else is taken for one.
    """
    words_of = role.split(" ")
    for n in range(max(1, len(words_of) - 3), len(words_of)):
        title, name = " ".join(words_of[:n]), " ".join(words_of[n:])
        if is_scope(" ".join(words_of[n - 1 :])) and not is_scope(name):
            continue  # the end of a line of work: "Redes Sociales"
        if _is_title(title) and looks_like_a_name(name) and not _has_known_word(name):
            return title, name
    return role, None


def _is_title(text: str) -> bool:
    if not has_level(text) or title_words_left(text):
        return False
    return family_named(text) is not Family.OTHER or not (text.isascii() or is_bare(text))


def _has_known_word(name: str) -> bool:
    return is_work(name) or any(
        is_work(word) or len(flat(word)) < 2 for word in re.split(r"[\s/-]", name)
    )


def is_work(text: str) -> bool:
    """Say whether *text* speaks of a role or a line of work and not of a firm."""
    if is_firm(text) and not is_scope(text):
        return False
    return is_scope(text) or has_level(text) or family_named(text) is not Family.OTHER
