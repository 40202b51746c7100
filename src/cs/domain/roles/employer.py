"""Separation of a role from its employer within one segment of a headline."""

import re

from cs.domain.names.brand_match import LEGAL_FORMS
from cs.domain.roles.labels import is_bare, is_creator, is_work
from cs.domain.roles.lexicon import LEVELS
from cs.domain.roles.piece import SCOPE, piece
from cs.domain.roles.segments import AT, is_tagline

#: What follows a word of the kind "at": a name.
_AFTER_AT = re.compile(
    r"['’]?\s(?:(?:the|la|el|le|der)\s)?(?=[^\W\d_a-zà-ÿа-яα-ω]|\d|[a-z]+[A-Z]|"
    r"(?<=[\u0370-\u06ff]\s)[a-z]{3})"
)
#: These mostly stand within a title, "Directora de Marca": asked last.
_OF = frozenset({"de", "da", "do", "di", "du", "del", "della", "dell", "dello", "von", "van"})
#: Before a place, and no employer: "yoga à Lyon".
_BEFORE_PLACES = frozenset({"à", "a"})
#: Turkish, Japanese and Korean put it after the employer.
_AT_AFTER = re.compile(
    r"^(?P<company>[^,|]{1,40}?)(?:\smein\s+|['’](?:da|de|ta|te|daki|deki|nda|nde|ın|in)\s+|"
    r"\s(?:bünyesinde|firmasında|şirketinde)\s+|(?:にて|で|での|所属の?)\s*|에서\s+|\sमें\s)(?P<role>.+)$",
    re.IGNORECASE,
)
_OF_FIRM = re.compile(
    r"(?P<role>.*(?<!\w)(?:founder|owner|CEO|fondateur|fondatrice|gründer|gründerin|fundador|"
    r"fundadora|inhaberin?|fondatore|oprichter|PDG|directora? general)(?:\s&\s\w+)?)"
    r"\s(?:(?:of|de|der|von|di|van)\s|d['’])(?P<firm>\S.*)$",
    re.IGNORECASE,
)
#: A legal form behind a firm's name, with or without points; "as" is a word of headlines.
_FORMS = sorted((LEGAL_FORMS | {"co", "sl"}) - {"as"}, key=len, reverse=True)
LEGAL = re.compile(rf",?\s*(?:{'|'.join(map('[.]?'.join, _FORMS))})\b\.?", re.IGNORECASE)
_NEXT_ROLE = re.compile(r"\s*(?:,|&|\+|\band\b|\bund\b|\bet\b|\by\b)\s+", re.IGNORECASE)
_AFTER_FIRM = re.compile(
    r"\s(?:in|where|who|leading|responsible|driving|helping|building|with|based|since)\s|\s?\(",
    re.IGNORECASE,
)
#: "At a beauty brand": a firm, and no name.
_NO_NAME = re.compile(r"(?:an?|une?|eine[mnrs]?|una|uno|um|uma|een)\s[a-z]")
#: An activity, not a role: "writing a novel".
_DOING = re.compile(r"\w+ing\s")
#: Kinds of terms that make a role, without a level of its own.
JOB = ("job", "recruiter")
_TITLE = SCOPE | LEVELS | {"senior", "under", "few"}


def split_at(text: str) -> tuple[str, str | None, str]:
    """Split *text* into a role, its employer if one is marked, and what comes after."""
    after = _AT_AFTER.match(text)
    if after and piece(after["role"]).has_level and not is_work(after["company"]):
        return after["role"], after["company"].strip(), ""
    hit = AT.search(text)
    if hit is None:
        return (*_perhaps_at(text), "")
    role, firm = text[: hit.start()].strip(" ,-–:"), text[hit.end() :].strip()
    company, rest = _firm(firm)
    return role, company or None, rest


def _firm(text: str) -> tuple[str, str]:
    """Split what follows "at" into the employer and a role named after it."""
    for hit in _NEXT_ROLE.finditer(text):
        rest = text[hit.end() :]
        is_form = hit[0].strip() == "," and LEGAL.match(text[hit.start() :].strip())
        if not is_form and (hit[0].strip() == "," or AT.search(rest)):
            return _cut(text[: hit.start()]), rest
    return _cut(text), ""


def _cut(company: str) -> str:
    cut = _AFTER_FIRM.split(company, maxsplit=1)[0].strip(" ,.-–:")
    return "" if _NO_NAME.match(cut) else cut


def _perhaps_at(text: str) -> tuple[str, str | None]:
    """As `split_at`, for little words that also stand within titles."""
    for little, start, end in sorted(_at_hits(text)[:8], key=lambda hit: hit[0] in _OF):
        role, firm = text[:start], text[end:].strip()
        if not _holds_role(role, little):
            continue
        name = piece(firm)
        # Italian has "in" before an employer; before its towns it has "a".
        is_within = little == "in" and not piece(role).has("italian")
        if name.is_place or name.has("several") or (is_within and not is_work(firm)):
            return role, None
        is_firm = _may_follow(little, firm) and not is_work(firm)
        if is_firm and not is_within and little not in _BEFORE_PLACES:
            return role, firm
    if founder := _OF_FIRM.match(text):
        return founder["role"], None if _NO_NAME.match(founder["firm"]) else founder["firm"]
    return text, None


def _at_hits(text: str) -> list[tuple[str, int, int]]:
    """Return words before what may be an employer, where they begin, and where that does."""
    found: dict[int, tuple[str, int, int]] = {}
    for term in piece(text).hits:
        name = _AFTER_AT.match(text, term.end)
        if term.kind == "at" and name and text[: term.start].endswith(" "):
            little = text[term.start : term.end].casefold()
            found[term.start] = little, term.start - 1, name.end()
    return list(found.values())


def _may_follow(little: str, firm: str) -> bool:
    """Say whether *firm* is a name, or one Latin word after one of another script."""
    return piece(firm).is_name or (firm.isascii() and " " not in firm and little[-1] > "\u024f")


def _holds_role(text: str, little: str) -> bool:
    if is_bare(text):
        return little == "på" or piece(text).has("founder")
    return (
        piece(text).has_level
        or piece(text).has(*JOB)
        or (little not in _OF and may_be_calling(text))
    )


def name_at_end(role: str) -> tuple[str, str | None]:
    """Split *role* from an employer that follows it unmarked: "Social Media Manager Wendy's".

    All before the name must be words of titles, so that nothing else is taken for one.
    """
    words = role.split(" ")
    for n in range(max(1, len(words) - 3), len(words)):
        title, name = piece(" ".join(words[:n])), " ".join(words[n:])
        is_role = title.has_level and not title.left(_TITLE) and not is_bare(title.text)
        if is_role and piece(name).is_name and not any(map(is_work, (name, *words[n:]))):
            return title.text, name
    return role, None


_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LOOSE = " 　,、:・-/"
_KNOWN = SCOPE | LEVELS | {"other_work", "job", "senior", "under"}


def unspaced_firm(role: str) -> tuple[str | None, str]:
    """Return the employer written before *role* without a mark, and the rest.

    What precedes the first word of any trade, place or level is the employer's name.

    >>> unspaced_firm("資生堂 ブランドマネージャー")
    ('資生堂', 'ブランドマネージャー')
    """
    if not _EAST_ASIAN.search(role):
        return None, role
    left, slash, right = role.rpartition("/")
    if slash and piece(left).has_level and not is_work(right):
        return right.strip(_LOOSE), left.strip(_LOOSE)
    first = piece(role).first(*_KNOWN)
    firm = role[: first.start].strip(_LOOSE) if first else ""
    if first is None or len(firm) < 2 or is_creator(role) or is_work(firm):
        return None, role
    return firm, role[first.start :].strip(_LOOSE)


def may_be_calling(text: str) -> bool:
    """Say whether *text* may be a calling that no table has: "Könyvelő"."""
    words = piece(text)
    if not 0 < len(words.tokens) <= 4 or any(map(str.isdigit, text)) or _DOING.match(text):
        return False
    known = words.is_place or words.is_firm or words.has("no_role", "product", "several")
    return not (known or is_tagline(text) or is_work(text))
