"""A web-search result for a profile page: the person it names, and their details.

Titles look like "Jane Doe - Head of Social - Acme | LinkedIn", with the end cut off
when it grows long; the snippet may hold the role and the place.
"""

import re

import msgspec

from cs.domain.names.person_name import shown_name, split_name
from cs.domain.names.plain_text import plain
from cs.domain.roles.labels import names_role
from cs.domain.roles.piece import flat, piece
from cs.domain.roles.reading import ClaimedRole, read


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one person in one search result."""

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
_NUMBERED = re.compile(r"\btop \d+\b|\b\d+\+", re.IGNORECASE)
_JOBS = re.compile(r"\bjobs? (?:in|at|near|bei|en)\b|\bis hiring\b|\bjobs$", re.IGNORECASE)
_LABELLED = re.compile(
    r"\s*[:：]\s*(?P<value>[^·|•\n]{2,60}?)(?=\s*(?:[·|•\n]|\.\s|\.?$|\d+\+?\s))"
)
_CONNECTIONS = re.compile(
    r"\d[\d.,]*\+?\s*(?:connections?|followers?|kontakte|relations|contactos|conexões|"
    r"collegamenti|connecties|abonnés|seguidores|follower)\b.*$|"
    r"^(?:view|see|sehen sie|voir|consultez|mira|veja|visualizza|bekijk)\b"
    r".*(?:profil|perfil)\w*.*$",
    re.IGNORECASE,
)


def read_title(title: str, snippet: str = "") -> SearchResult | None:
    """Return the person a search result names, or None if it names none.

    Args:
        title: As the search engine shows it, perhaps cut off.
        snippet: The text below it, or "".

    >>> read_title("Jane Doe - Head of Social - Acme | LinkedIn", "").company
    'Acme'
    """
    text, snippet = _NETWORK.sub("", plain(title)), plain(snippet)
    pieces = list(filter(None, map(_without_cut, _JOINT.split(text))))
    if not pieces or _is_page(text, pieces[0]) or not (name := _person(pieces[0])):
        return None
    rest, lines = pieces[1:], _lines(snippet)
    # "Jane Doe - Berlin, Germany": some titles end in a place.
    places = [part for part in rest if piece(part).is_address]
    rest = [part for part in rest if part not in places]
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
    """Say whether the title is of a page that is about no one person."""
    return piece(first).has("no_person") or bool(_NUMBERED.search(first) or _JOBS.search(text))


def _without_cut(part: str) -> str:
    """Leave out the dots of a cut, and with them a word that may be half a word."""
    cut = _CUT.search(part)
    if cut is None:
        return part.strip(" ,-–|·")
    text = part[: cut.start()]
    if not part[cut.start()].isspace() and " " in text:
        text = text.rpartition(" ")[0]
    return _DANGLING.sub("", text.strip(" ,-–|·&@"))


#: What a cut leaves hanging.
_DANGLING = re.compile(
    r"(?:[\s,&@-]+(?:at|bei|chez|of|and|the|for|de|und|et|y|e|en|na|no|du|da|presso|bij|hos))+$",
    re.IGNORECASE,
)


def _person(text: str) -> str | None:
    """Return *text* as a name if it can be one."""
    if names_role(text):
        return None
    if piece(text).is_firm or piece(text).is_place:
        return None
    name = shown_name(text)
    return name if name and (" " in name or split_name(name)[1]) else None


def _is_role(text: str) -> bool:
    return any(piece(c.role).has_level for c in read(text).claims)


def _headline(rest: list[str]) -> tuple[str | None, tuple[ClaimedRole, ...]]:
    """Return the pieces after the name if they say a role, and it: the headline as it was."""
    text = " - ".join(rest)
    claims = tuple(claim for claim in read(text).claims if not claim.is_guess)
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
    if labelled := _labelled("work_label", snippet):
        return labelled
    text = " | ".join(line for line in lines if not piece(line).is_address)
    if said := _employer(read(text).claims):
        return said
    if rest and headline != " - ".join(rest) and not piece(rest[-1]).has_level:
        return rest[-1]
    return None


def _employer(claims: tuple[ClaimedRole, ...]) -> str | None:
    return next((each.company for each in claims if each.company and not each.is_guess), None)


def _lines(snippet: str) -> list[str]:
    """Return the parts of *snippet*, without counts of connections and invitations to look."""
    text = _CONNECTIONS.sub("", snippet)
    pieces = re.split(r"\s*[·|•]\s*|(?<=\w{3}\.)\s+(?=[A-Z])", text)
    return list(filter(None, (_without_cut(each).rstrip(". ") for each in pieces)))


def _labelled(kind: str, snippet: str) -> str | None:
    """Return what stands behind a label of *kind*: "Location: Berlin"."""
    found = (hit for hit in piece(snippet).hits if hit.kind == kind)
    values = (_LABELLED.match(snippet, hit.end) for hit in found)
    return next((value["value"].strip(" .,") for value in values if value), None)


def _location(lines: list[str], snippet: str) -> str | None:
    if labelled := _labelled("place_label", snippet):
        return labelled
    return next(
        (line for line in lines if piece(line).is_address and len(flat(line)) > 2), None
    )
