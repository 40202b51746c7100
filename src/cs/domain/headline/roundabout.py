"""An employer told in a roundabout way: "on behalf of Acme", "I work at Acme as"."""

import re

from cs.domain.headline import words
from cs.domain.headline.role_level import has_level
from cs.domain.headline.scope_words import is_place, is_scope, looks_like_a_name
from cs.domain.names.lazy_pattern import LazyPattern

#: Before the name of an employer, and all they say is "at".
_AT_LENGTH = LazyPattern(
    r"(?<=\w)\s(?:on behalf of|over at|(?:as )?part of|"
    r"(?:in|within|on) (?:the |our )?(?:[\w&-]+ ){0,3}team (?:of|at)|"
    r"au sein (?:de|du|d['’])|au service (?:de|du|d['’])|pour le compte (?:de|du|d['’])|"
    r"dans l['’]équipe (?:de|du|d['’])|en el equipo de|na equipe da|"
    r"im hause|im auftrag (?:von|der|des)|im team (?:von|der|des)|"
    r"en el grupo|nel gruppo|no grupo|"
    r"ve společnosti|v spoločnosti|w firmie|в компании|у компанії)\s?"
    r"(?:(?:the|la|le|les|der|des|el)\s)?(?:(?:groupe|grupo|gruppo|gruppe|maison)\s)?"
    r"(?-i:(?=[^\W\d_a-zà-ÿа-яα-ω]))",
    re.IGNORECASE,
)
#: What a firm is, written small before its name: "Directrice, maison Acme".
_KIND_OF_FIRM = re.compile(r"(?<=[,|–-]\s)(?:maison|groupe|grupo|gruppo)\s(?=[A-ZÀ-ÖØ-Þ])")
_TEAM = re.compile(r"team|équipe|equipo|equipe", re.IGNORECASE)
_PIECE = re.compile(r"[,|]|\s[–-]\s")
#: Told as one sentence: "I run social for Acme as Senior Manager".
_AS_ROLE = LazyPattern(
    r"(?:(?:currently|now|today)\s)?(?:(?:i|i am|i'm|ich|je|ik|jag|jeg)\s)?"
    r"(?:(?:work|working|run|running|lead|leading|drive|driving|build|building|head|heading|"
    r"arbeite|travaille|trabajo|trabalho|lavoro|werk|werkzaam|jobbar|arbetar|jobber|arbejder|"
    r"pracuję|pracuje)(?:\s[\w&-]+){0,4}?\s)?"
    r"(?:at|for|with|bei|für|chez|pour|en|em|na|no|presso|per|hos|på|för|voor|bij|w|dla)\s"
    r"(?P<company>[^,|]{2,40}?)\s(?:as|als|como|comme|en tant que|come|jako|som)\s"
    r"(?:(?:the|an?|une?|eine?)\s)?(?P<role>.+?)(?:\s(?:unterwegs|tätig|im einsatz))?$",
    re.IGNORECASE,
)


def plainly_at(text: str) -> str:
    """Write "at" for what means no more, but not where it tells whose team somebody is in.

    >>> plainly_at("Brand Lead on behalf of Acme")
    'Brand Lead at Acme'
    """
    hit = _AT_LENGTH.search(text)
    if hit is not None and not (
        words.AT.search(_PIECE.split(text[: hit.start()])[-1])
        or _is_of_somebody(hit[0], text[hit.end() :])
    ):
        text = f"{text[: hit.start()]} at {text[hit.end() :]}"
    return _KIND_OF_FIRM.sub("", text)


def _is_of_somebody(said: str, behind: str) -> bool:
    """Say whether no employer comes next: "on the team of the Head of Brand, Acme"."""
    named, *after = _PIECE.split(behind, maxsplit=1)
    if after and _TEAM.search(said) and not is_place(after[0].strip()):
        return True
    return has_level(named) or is_place(named)


def firm_first(text: str) -> tuple[str, str] | None:
    """Return role and employer of a sentence that names the employer first.

    >>> firm_first("Working for Acme as Influencer Manager")
    ('Influencer Manager', 'Acme')
    """
    told = _AS_ROLE.fullmatch(text)
    if told is None or not has_level(told["role"]):
        return None
    return (told["role"], told["company"]) if _is_name(told["company"]) else None


def _is_name(text: str) -> bool:
    named = looks_like_a_name(text) or ("-" in text and " " in text)
    return named and not (is_place(text) or is_scope(text) or has_level(text))
