"""A headline cut into its parts, and the past and the wishes cut out of it."""

import re

import msgspec

from cs.domain.headline import time_words, words
from cs.domain.headline.family_words import OTHER_PARTNERS
from cs.domain.headline.role_family import Family, family_named
from cs.domain.headline.role_level import has_level
from cs.domain.headline.roundabout import plainly_at
from cs.domain.headline.scope_words import is_offer, is_place, is_scope, looks_like_a_name
from cs.domain.headline.spelling import flat
from cs.domain.names.plain_text import plain


class Part(msgspec.Struct, frozen=True):
    """What stands between two separators.

    Attributes:
        text: As written, without brackets, hashtags, pronouns and years.
        joint: What stood before it: "|", "-", "/", "." or "" at the beginning.
        is_left: Whether it ended in "formerly at Acme": its role may be one of then.
    """

    text: str
    joint: str
    is_left: bool = False


_SEPARATOR = re.compile(
    r"\s*(?P<bar>[|¦【】•●▪◦■◆▶►➤➜→»⟩;‖∣❙]+|\s·\s|(?<!\S)·|·(?!\S)|\s[~*]\s)[|¦•●▪\s]*"
    r"|(?P<dash>\s[-–—―]+\s|—|\s[-–](?=\w)|(?<=[\w)])[-–]\s(?!(?:und|u\.|and|oder|or|et|y|og|"
    r"och|e|i|&)\s))\s*"
    r"|(?P<slash>\s/{1,2}\s|//|、)\s*"
)
_SENTENCE = re.compile(r"(?<=[\w)]{3}[.!?])\s+(?=[A-ZÀ-ÖØ-ÞĀ-ſΑ-ΩЀ-Я#@])|。|!\s")
_ABBREVIATION = re.compile(
    r"(?<!\w)(?:sr|jr|snr|dir|mgr|mngr|asst|assoc|inc|co|corp|ltd|st|mr|mrs|ms|dr|prof|dept|"
    r"intl|"
    r"int|natl|nat|reg|exec|ing|dipl|bros|vs|prev|coord|mktg|mkt|comm|comms|resp|gte|gta|ger|"
    r"enc|encarg|subger|subgte|infl|influ|inf|part|partn|téc|tec|dtor|dtora|gral|tel|sen|ehem|"
    r"jun|stv|leit|mark|med|\w)\.$",
    re.IGNORECASE,
)
#: A list whose slashes stand between words without spaces: "Brand Manager/Mum of 3".
_SEGMENT = re.compile(r"[^|¦•·–—]+")
_TIGHT_SLASH = re.compile(r"(?<=\w)/(?=\w)")
_END = re.compile(r"\s-\s|,\s")
#: Letters that stand for a bar: "Brand Manager I Nike".
_CROSS = re.compile(r"(?<=\w)\s[xX×]\s(?=[^\W\d_a-zà-ÿ])")
_LETTER_BAR = re.compile(
    r"(?<=\w)\s[Ilıǀ丨]\s*$|(?<=\w)\s(?:[Iıǀ丨]|ll?|II)\s(?=[^\W_a-zà-ÿ])(?!I\s|Am\b|Have\b)|"
    r"\s\\+\s|"
    r"\s[-=~]*>+\s|\s::+\s"
)
#: The sign of an abbreviation in Hebrew, which is typed as a quotation mark.
_GERSHAYIM = re.compile(r"(?<=[א-ת])[\"”״](?=[א-ת])")
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_ENDING = re.compile(r"[^\W\d]{1,5}")
_QUOTED = re.compile(r"[“\"«„][^“”\"«»„]{0,120}[”\"»“]")
_HASHTAG = re.compile(r"(?<!\w)#\w+")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]{1,64}@[^\s@]+\.\w+", re.IGNORECASE)
_YEAR_GAP = re.compile(r"((?:19|20)\d\d)\s?[-–—]\s?(?=(?:19|20)?\d\d\b)")
#: Of so few letters is a country or a line of work, "DE", "PR", rather than a firm.
_FEW_LETTERS = 2
_EDGES = " \t,;:.·-–—|/*_~!?&+"


def parts(headline: str) -> list[Part]:
    """Return the parts of *headline* that speak of today, in order."""
    text = _tidy(plain(headline))
    found = [Part(_stripped(piece), joint) for piece, joint in _split(text)]
    return [part for part in _of_today(found) if part.text]


def _tidy(text: str) -> str:
    text = _YEAR_GAP.sub(r"\1-", text)
    text = time_words.SINCE.sub(" ", text)
    text = time_words.LEAVE.sub(" | ", text)
    text = _GERSHAYIM.sub("״", text.replace("،", ",").replace("؛", ";"))
    text = _BRACKETS.sub(_bracketed, text)
    text = words.GENDERS.sub(" ", _ADDRESS.sub(" ", text))
    text = _SEGMENT.sub(_without_asides, text)
    text = _CROSS.sub(_crossed, _LETTER_BAR.sub(" | ", text))
    text = re.sub(r" {2,}", " ", re.sub(r"\s+(?=[.,;!?](?:\s|$))", "", text)).strip()
    return plainly_at(text)


def _without_asides(hit: re.Match[str]) -> str:
    """Read "Brand Manager/Mum of 3 at Acme" as "Brand Manager at Acme"."""
    pieces = _TIGHT_SLASH.split(hit[0])
    ends = [
        end.start() for end in (words.AT.search(pieces[-1]), _END.search(pieces[-1])) if end
    ]
    behind = pieces[-1][min(ends) :] if ends else ""
    pieces[-1] = pieces[-1].removesuffix(behind)
    kept = [piece for piece in pieces if not _is_aside(piece)]
    if not behind and _is_role_and_firm(kept):
        return " | ".join(kept)
    return f"{'/'.join(kept)} {behind}" if 0 < len(kept) < len(pieces) else hit[0]


def _is_role_and_firm(pieces: list[str]) -> bool:
    """Say whether slashes stand for bars: "Social Media Manager/Acme/Leeds"."""
    if len(pieces) < 2 or not has_level(flat(pieces[0]).rpartition(" ")[2]):
        return False
    named = [piece.strip() for piece in pieces[1:]]
    return (
        _names_role(pieces[0])
        and family_named(pieces[0]) is not Family.OTHER
        and not is_place(named[0])
        and len(named[0]) > _FEW_LETTERS
        and all(looks_like_a_name(name) for name in named)
        and not is_scope(named[0])
        and not any(_names_role(name) or is_offer(name) for name in named)
        and all(is_place(name) or not is_scope(name) for name in named[1:])
    )


def _is_aside(text: str) -> bool:
    aside = words.NO_ROLE.found(flat(text)) or words.TAGLINE.match(text.strip())
    return bool(aside) and not _names_role(text)


def _crossed(hit: re.Match[str]) -> str:
    """Read "Creator Lead x Duolingo" as "Creator Lead | Duolingo"."""
    return " | " if _names_role(hit.string[: hit.start()]) else hit[0]


def _bracketed(hit: re.Match[str]) -> str:
    """Keep an ending, "Chargé(e)", and what is past; drop the rest or set it apart."""
    inner = hit[1].strip()
    attached = hit.start() > 0 and hit.string[hit.start() - 1].isalnum()
    if attached and inner.islower() and _ENDING.fullmatch(inner):
        return hit[0]
    if time_words.ENDED_BRACKET.match(inner):
        return f" {time_words.OVER} "
    if time_words.REPORTS_TO.search(inner):
        return " "
    if time_words.TO_COME_BRACKET.match(inner):
        return f" {time_words.OVER} "
    if time_words.YEARS.search(inner) or inner.casefold() in {"株", "주", "전", "현"}:
        return f" {hit[0]} "
    if time_words.FORMER.match(inner) or time_words.WISH.match(inner):
        return f" | {inner} | "
    if inner.casefold() in {"ex", "former", "previous"}:
        return " former "
    before = hit.string[: hit.start()]
    if not before.strip() and _is_employer_before(inner, hit.string[hit.end() :]):
        return f"{inner} | "
    if words.RECRUITER.found(flat(before)):
        return " "
    if hit.end() == len(hit.string) and _may_be_seller(inner, before):
        return f" | {inner}"
    if _names_work(inner) or (has_level(before) and is_scope(inner) and not is_place(inner)):
        return f", {inner}"
    if hit.end() == len(hit.string) and _may_be_employer(inner, before):
        return f" | {inner}"
    return " "


def _may_be_employer(text: str, before: str) -> bool:
    """Say whether a bracket at the end holds the employer: "Brand Director [Arla Protein]"."""
    return (
        has_level(before)
        and not _SEPARATOR.search(before)
        and not words.AT.search(before)
        and "," not in before
        and looks_like_a_name(text)
        and not (text.isascii() and text.isupper())
        and not is_scope(text)
    )


def _is_employer_before(text: str, after: str) -> bool:
    """Say whether a bracket before a role holds its employer: "[Acme] Head of Social"."""
    return (
        has_level(after)
        and not words.AT.search(after)
        and looks_like_a_name(text)
        and not (is_scope(text) or is_place(text) or _names_role(text))
    )


def _may_be_seller(text: str, before: str) -> bool:
    """Say whether a bracket names who sells what is told before it: "the CRM suite (Acme)"."""
    offer = _SEPARATOR.split(before)[-1].strip(_EDGES)
    return (
        is_offer(offer) and looks_like_a_name(text) and not (has_level(text) or is_scope(text))
    )


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
    return hit[0] if time_words.WISH.search(hit[0]) else " "


def _of_today(found: list[Part]) -> list[Part]:
    """Cut out what is past or wished for, to the end of its part.

    A comma list or a slash goes on with the past ("ex-Nike / Adidas"); a part that is
    a bare wish ("Open to work") makes wishes of the parts after it that name no employer.
    """
    today: list[Part] = []
    past = wish = wished = awarded = False
    for part in found:
        if awarded and part.joint == "-" and not time_words.NOW.match(part.text):
            continue
        awarded = words.AWARDED.fullmatch(part.text) is not None
        if (past or wish) and part.joint == "/" and not time_words.NOW.match(part.text):
            continue
        if time_words.YEARS.search(part.text):
            past = False
            continue
        if _is_over_now(part.text):
            today.clear()
        texts, past, wish = _today(part.text)
        seeker = is_seeker(part.text)
        bare = seeker or (
            wish
            and not texts
            and len(flat(part.text).split()) <= 3
            and not _names_role(part.text)
        )
        if seeker:
            texts = []
        if wished and not words.AT.search(part.text) and not time_words.NOW.search(part.text):
            continue
        wished = wished or (bare and not today)
        today.extend(
            Part(
                text.strip(_EDGES), part.joint if not n else ",", _is_left(part.text, past=past)
            )
            for n, text in enumerate(texts)
        )
    return today


def _is_over_now(text: str) -> bool:
    """Say whether *text* ends all that was said before: "Now retired"."""
    now = time_words.NOW.match(text)
    return now is not None and time_words.ENDED_BRACKET.match(text[now.end() :]) is not None


def _is_left(text: str, *, past: bool) -> bool:
    """Say whether *text* ends in a firm of the past, and in no role: "formerly at Acme"."""
    former = time_words.FORMER.search(text) if past else None
    if former is None:
        return False
    firm = text[former.end() :]
    return not _names_role(firm) and (
        words.AT.match(firm) is not None or looks_like_a_name(firm)
    )


def is_seeker(text: str) -> bool:
    """Say whether *text* is of somebody without a role, and names none."""
    return words.SEEKER.found(flat(text)) and not has_level(text)


def _today(text: str) -> tuple[list[str], bool, bool]:
    """Return the pieces of *text* about today; whether it ends in the past; or in a wish."""
    texts: list[str] = []
    wish = past = False
    text = time_words.TURNED.sub("", _of_its_holder(text))
    if ended := time_words.ENDED.search(text):
        # "Until 2021 Brand Manager", or "Brand Manager until 2021".
        before, after = text[: ended.start()], text[ended.end() :]
        now = time_words.NOW.search(after)
        if now is None:
            former = time_words.FORMER.search(before)
            if former is not None:
                before = before[: former.start()]
            kept = before.strip(_EDGES) and (former or _names_role(after))
            return ([before] if kept else []), True, False
        text = after[now.start() :]
    if time_words.WANTED.search(text):
        return [], False, True
    coming = time_words.COMING.search(text)
    if coming and not _names_role(text[coming.end() :]) and not time_words.NOW.search(text):
        return [], False, True
    for _ in range(8):
        former, wished = time_words.FORMER.search(text), time_words.WISH.search(text)
        first = min(
            (hit for hit in (former, wished) if hit), key=lambda hit: hit.start(), default=None
        )
        if first is None:
            past = False
            texts.append(_without_now(text))
            break
        texts.append(_without_now(text[: first.start()]))
        past, wish = first is former, wish or first is wished
        now = time_words.NOW.search(text, first.end())
        if now is None or not text[first.end() : now.start()].strip(_EDGES):
            break
        text = text[now.end() :]
    return [piece for piece in texts if piece.strip(_EDGES)], past, wish


def _of_its_holder(text: str) -> str:
    """Leave out whom its holder reports to, but not the employer after it."""
    hit = time_words.REPORTS_TO.search(text)
    if hit is None:
        return text
    before, after = text[: hit.start()], text[hit.end() :]
    at = words.AT.search(after)
    if at is not None:
        return f"{before} {after[at.start() :]}" if before else ""
    _, comma, last = after.rpartition(",")
    return f"{before}, {last}" if before and comma and not _names_role(last) else before


def _names_role(text: str) -> bool:
    return has_level(text) or family_named(text) is not Family.OTHER


def _without_now(text: str) -> str:
    """Leave out "Currently" before a role."""
    text = text.strip(_EDGES)
    hit = time_words.NOW.match(text)
    return text[hit.end() :] if hit else text
