"""A headline cut into its parts, and the past and the wishes cut out of it."""

import re

import msgspec

from cs.domain.headline import words
from cs.domain.headline.family_words import OTHER_PARTNERS
from cs.domain.headline.role_family import Family, family_named
from cs.domain.names.plain_text import flat, plain


class Part(msgspec.Struct, frozen=True):
    """What stands between two separators.

    Attributes:
        text: As written, without brackets, hashtags, pronouns and years.
        joint: What stood before it: "|", "-", "/", "." or "" at the beginning.
    """

    text: str
    joint: str


_SEPARATOR = re.compile(
    r"\s*(?P<bar>[|¦【】•●▪◦■◆▶►➤➜→»⟩;‖∣❙]+|\s·\s|(?<!\S)·|·(?!\S)|\s[~*]\s)[|¦•●▪\s]*"
    r"|(?P<dash>\s[-–—―]+\s|—|\s[-–](?=\w)|(?<=[\w)])[-–]\s(?!(?:und|u\.|and|oder|or|et|y|og|och|e|i|&)\s))\s*"
    r"|(?P<slash>\s/{1,2}\s|//|、)\s*"
)
_SENTENCE = re.compile(r"(?<=[\w)]{3}[.!?])\s+(?=[A-Z#@])|。|!\s")
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:sr|jr|snr|dir|mgr|mngr|asst|assoc|inc|co|corp|ltd|st|mr|mrs|ms|dr|prof|dept|intl|"
    r"int|natl|nat|reg|exec|ing|dipl|bros|vs|prev|coord|mktg|mkt|comm|comms|resp|tel|sen|ehem|"
    r"jun|stv|leit|mark|med|\w)\.$",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_ENDING = re.compile(r"[^\W\d]{1,5}")
_QUOTED = re.compile(r"[“\"«„][^“”\"«»„]{0,120}[”\"»“]")
_HASHTAG = re.compile(r"(?<!\w)#\w+")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]{1,64}@[^\s@]+\.\w+", re.IGNORECASE)
_YEAR_GAP = re.compile(r"((?:19|20)\d\d)\s?[-–—]\s?(?=(?:19|20)?\d\d\b)")
_EDGES = " \t,;:.·-–—|/*_~!?&+"


def parts(headline: str) -> list[Part]:
    """Return the parts of *headline* that speak of today, in order."""
    text = _tidy(plain(headline))
    found = [Part(_stripped(piece), joint) for piece, joint in _split(text)]
    return [part for part in _of_today(found) if part.text]


def _tidy(text: str) -> str:
    text = _YEAR_GAP.sub(r"\1-", text)
    text = words.SINCE.sub(" ", text)
    text = _BRACKETS.sub(_bracketed, text)
    text = words.GENDERS.sub(" ", _ADDRESS.sub(" ", text))
    return re.sub(r" {2,}", " ", text).strip()


def _bracketed(hit: re.Match[str]) -> str:
    """Keep an ending, "Chargé(e)", and what is past; drop the rest or set it apart."""
    inner = hit[1].strip()
    attached = hit.start() > 0 and hit.string[hit.start() - 1].isalnum()
    if attached and _ENDING.fullmatch(inner) and not inner.isupper():
        return hit[0]
    if words.YEARS.search(inner) or inner.casefold() in {"株", "주", "전", "현"}:
        return f" {hit[0]} "
    if words.FORMER.match(inner) or words.WISH.match(inner):
        return f" | {inner} | "
    if inner.casefold() in {"ex", "former", "previous"}:
        return " former "
    if _names_work(inner):
        return f", {inner}"
    return " "


def _names_work(text: str) -> bool:
    named = family_named(text) is not Family.OTHER or OTHER_PARTNERS.found(flat(text))
    return named and not any(map(str.isdigit, text))


def _split(text: str) -> list[tuple[str, str]]:
    pieces: list[tuple[str, str]] = []
    joint, start = "", 0
    for hit in _SEPARATOR.finditer(text):
        pieces.extend(_sentences(text[start : hit.start()], joint))
        joint = {"bar": "|", "dash": "-", "slash": "/"}[hit.lastgroup or "bar"]
        start = hit.end()
    pieces.extend(_sentences(text[start:], joint))
    return pieces


def _sentences(text: str, joint: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    start = 0
    for hit in _SENTENCE.finditer(text):
        if _ABBREVIATION.search(text, max(0, hit.start() - 12), hit.start()):
            continue
        found.append((text[start : hit.start()], joint))
        joint, start = ".", hit.end()
    return [*found, (text[start:], joint)]


def _stripped(text: str) -> str:
    text = _HASHTAG.sub(_wish_hashtag, _QUOTED.sub(" ", text))
    return re.sub(r" {2,}", " ", text).strip(_EDGES)


def _wish_hashtag(hit: re.Match[str]) -> str:
    """Keep "#OpenToWork": what stands after it is a wish."""
    return hit[0] if words.WISH.search(hit[0]) else " "


def _of_today(found: list[Part]) -> list[Part]:
    """Cut out what is past or wished for, to the end of its part.

    A comma list or a slash goes on with the past ("ex-Nike / Adidas"); a part that is
    a bare wish ("Open to work") makes wishes of the parts after it that name no employer.
    """
    today: list[Part] = []
    past = wished = False
    for part in found:
        if past and part.joint == "/" and not words.NOW.match(part.text):
            continue
        if words.YEARS.search(part.text):
            past = False
            continue
        texts, past, wish = _today(part.text)
        bare = wish and not texts and len(flat(part.text).split()) <= 3
        if wished and not words.AT.search(part.text) and not words.NOW.search(part.text):
            continue
        wished = wished or (bare and not today)
        today.extend(
            Part(text.strip(_EDGES), part.joint if not n else ",")
            for n, text in enumerate(texts)
        )
    return today


def _today(text: str) -> tuple[list[str], bool, bool]:
    """Return the pieces of *text* about today; whether it ends in the past; or in a wish."""
    texts: list[str] = []
    wish = past = False
    for _ in range(8):
        former, wished = words.FORMER.search(text), words.WISH.search(text)
        first = min(
            (hit for hit in (former, wished) if hit), key=lambda hit: hit.start(), default=None
        )
        if first is None:
            past = False
            texts.append(_without_now(text))
            break
        texts.append(_without_now(text[: first.start()]))
        past, wish = first is former, wish or first is wished
        now = words.NOW.search(text, first.end())
        if now is None:
            break
        text = text[now.end() :]
    return [piece for piece in texts if piece.strip(_EDGES)], past, wish


def _without_now(text: str) -> str:
    """Leave out "Currently" before a role."""
    text = text.strip(_EDGES)
    hit = words.NOW.match(text)
    return text[hit.end() :] if hit else text
