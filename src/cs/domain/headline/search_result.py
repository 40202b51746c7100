"""A web-search result for a profile page: whom it names, and what it says of them.

Titles look like "Jane Doe - Head of Social - Acme | LinkedIn", with the end cut off
when it grows long; the snippet may hold the role and the place.
"""

import re

import msgspec

from cs.domain.headline.headline import ClaimedRole, read
from cs.domain.headline.role_family import Family, family_named
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import is_address, is_firm, is_place
from cs.domain.headline.spelling import flat
from cs.domain.names.person_name import shown_name, split_name
from cs.domain.names.plain_text import plain


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one search result says of one person; nothing is made up."""

    full_name: str
    headline: str | None = None
    company: str | None = None
    location: str | None = None


_NETWORK = re.compile(
    r"(?:\s*[|•·–—-]\s*(?:professional profile|berufliches profil|profil professionnel|"
    r"perfil profesional|perfil profissional|profilo professionale))?"
    r"\s*[|•·–—-]\s*(?:LinkedIn|领英|領英|링크드인|リンクトイン)\b[^|]{0,40}$|"
    r"^LinkedIn\s*[|•·–—-]\s*",
    re.IGNORECASE,
)
_CUT = re.compile(r"\s*(?:\.{2,}|…)\s*")
_JOINT = re.compile(r"\s+[-–—|•·]\s+|\s*[|•·]\s*")
#: Titles of pages that are about no one person.
_NO_PERSON = re.compile(
    r"\b(?:jobs?|hiring|careers?|vacanc\w+|stellenangebote|offres? d'emploi|empleos?|vagas?|"
    r"offerte di lavoro|vacatures?|profiles|directory|professionals|salary|company page|"
    r"overview|employees|mitarbeiter|posts?|articles?|pulse|groups?|top \d+|\d+\+|learning|"
    r"log ?in|sign up|people named|who we are|about us|how to|what is|marketing|digital|agency|"
    r"studios?|solutions|services|consulting|ventures|international|official|university|"
    r"institute|hotels?|restaurant|store|shop)\b",
    re.IGNORECASE,
)
_JOBS = re.compile(r"\bjobs? (?:in|at|near|bei|en)\b|\bis hiring\b|\bjobs$", re.IGNORECASE)
_PLACE_LABEL = re.compile(
    r"(?:location|standort|ort|lieu|localisation|ubicación|localização|località|locatie|plats|"
    r"lokalizacja|konum|所在地|勤務地|위치|地点|位置)\s*[:：]\s*(?P<place>[^·|•\n]{2,60}?)"
    r"(?=\s*(?:[·|•\n]|\.\s|\.$|$|\d+\+?\s))",
    re.IGNORECASE,
)
_WORK_LABEL = re.compile(
    r"(?:experience|berufserfahrung|expérience|experiencia|experiência|esperienza|ervaring|"
    r"erfarenhet|doświadczenie|deneyim|経歴|경력|工作经历)\s*[:：]\s*(?P<firm>[^·|•\n]{2,60}?)"
    r"(?=\s*(?:[·|•\n]|\.\s|\.$|$))",
    re.IGNORECASE,
)
_CONNECTIONS = re.compile(
    r"\d[\d.,]*\+?\s*(?:connections?|followers?|kontakte|relations|contactos|conexões|"
    r"collegamenti|connecties|abonnés|seguidores|follower)\b.*$|"
    r"^(?:view|see|sehen sie|voir|consultez|mira|veja|visualizza|bekijk)\b"
    r".*(?:profil|perfil)\w*.*$",
    re.IGNORECASE,
)


def read_title(title: str, snippet: str = "") -> SearchResult | None:
    """Return whom a search result names, or None if it names no person.

    Args:
        title: As the search engine shows it, perhaps cut off.
        snippet: The text below it, or "".

    >>> read_title("Jane Doe - Head of Social - Acme | LinkedIn", "").company
    'Acme'
    """
    text = _NETWORK.sub("", plain(title))
    pieces = [piece for piece in (_without_cut(piece) for piece in _JOINT.split(text)) if piece]
    if not pieces or _is_page(text, pieces[0]) or not (name := _person(pieces[0])):
        return None
    rest, lines = pieces[1:], _lines(snippet)
    # "Jane Doe - Berlin, Germany": some titles end in a place.
    places = [piece for piece in rest if is_address(piece)]
    rest = [piece for piece in rest if piece not in places]
    headline, claims = _headline(rest)
    if headline is None and (headline := next(filter(_is_role, lines), None)) is not None:
        claims = read(headline).claims
    return SearchResult(
        full_name=name,
        headline=headline,
        company=_company(rest, headline, claims, lines, snippet),
        location=_location(lines, snippet) or next(iter(places), None),
    )


def _is_page(text: str, first: str) -> bool:
    return _NO_PERSON.search(first) is not None or _JOBS.search(text) is not None


def _without_cut(piece: str) -> str:
    """Leave out the dots of a cut, and with them a word that may be half a word."""
    cut = _CUT.search(piece)
    if cut is None:
        return piece.strip(" ,-–|·")
    text = piece[: cut.start()]
    if not piece[cut.start()].isspace() and " " in text:
        text = text.rpartition(" ")[0]
    return _DANGLING.sub("", text.strip(" ,-–|·&@"))


#: What a cut leaves hanging.
_DANGLING = re.compile(
    r"(?:[\s,&@-]+(?:at|bei|chez|of|and|the|for|de|und|et|y|e|en|na|no|du|da|presso|bij|hos))+$",
    re.IGNORECASE,
)


def _person(text: str) -> str | None:
    """Return *text* as a name if it can be one."""
    if has_level(text) or family_named(text) is not Family.OTHER:
        return None
    if is_firm(text) or is_place(text):
        return None
    name = shown_name(text)
    return name if name and (" " in name or split_name(name)[1]) else None


def _is_role(text: str) -> bool:
    return any(has_level(c.role) for c in read(text).claims)


def _headline(rest: list[str]) -> tuple[str | None, tuple[ClaimedRole, ...]]:
    """Return the pieces after the name if they say a role, and it: the headline as it was."""
    text = " - ".join(rest)
    claims = read(text).claims if text else ()
    return (text, claims) if claims else (None, ())


def _company(
    rest: list[str],
    headline: str | None,
    claims: tuple[ClaimedRole, ...],
    lines: list[str],
    snippet: str,
) -> str | None:
    if said := _employer(claims):
        return said
    if labelled := _WORK_LABEL.search(plain(snippet)):
        return labelled["firm"].strip()
    told = " | ".join(line for line in lines if not is_address(line))
    if said := _employer(read(told).claims):
        return said
    if rest and headline != " - ".join(rest) and not has_level(rest[-1]):
        return rest[-1]
    return None


def _employer(claims: tuple[ClaimedRole, ...]) -> str | None:
    return next((claim.company for claim in claims if claim.company), None)


def _lines(snippet: str) -> list[str]:
    """Return the parts of *snippet*, without counts of connections and invitations to look."""
    text = _CONNECTIONS.sub("", plain(snippet))
    pieces = re.split(r"\s*[·|•]\s*|(?<=\w{3}\.)\s+(?=[A-Z])", text)
    return [piece for piece in (_without_cut(piece).rstrip(". ") for piece in pieces) if piece]


def _location(lines: list[str], snippet: str) -> str | None:
    if labelled := _PLACE_LABEL.search(plain(snippet)):
        return labelled["place"].strip(" .,")
    return next((line for line in lines if is_address(line) and len(flat(line)) > 2), None)
