"""A headline cut into segments, and the past and the wishes cut out of them."""

import re

import msgspec

from cs.domain.names.plain_text import plain
from cs.domain.roles.labels import Family, family_named, names_role
from cs.domain.roles.piece import piece


class Segment(msgspec.Struct, frozen=True):
    """Part of a headline between two separators that speaks of today.

    Attributes:
        text: As written, without brackets, hashtags, pronouns and years.
        joint: What stood before it: "|", "-", "/", ".", "," or "" at the beginning.
        is_now: Whether "now" or the like stood before it: it is a role, whatever it says.
    """

    text: str
    joint: str
    is_now: bool = False


#: As written.  What follows is the employer, however it is spelt.
AT = re.compile(
    r"\s*@\s*(?=\w)|(?:(?<=\s)|^)(?:at|bei|beim|chez|presso|bij|hos|c/o)\s+(?=\S)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*(?P<bar>[|¦【】•●▪◦■◆▶►➤➜→»⟩;‖∣❙]+|\s·\s|(?<!\S)·|·(?!\S)|\s[~*]\s)[|¦•●▪\s]*"
    r"|(?P<dash>\s[-–—―]+\s|—|\s[-–](?=\w)|(?<=[\w)])[-–]\s(?!(?:und|u\.|and|oder|or|et|y|og|"
    r"och|e|i|&)\s))\s*"
    r"|(?P<slash>\s/{1,2}\s|//|、)\s*"
)
_SENTENCE = re.compile(r"(?<=[\w)]{3}[.!?])\s+(?=[A-ZÀ-ÖØ-ÞĀ-ſΑ-ΩЀ-Я#@])|。|!\s")
_LAST_WORD = re.compile(r"(?<!\w)(\w+)\.$")
#: Letters and signs that stand for a bar: "Brand Manager I Nike".
_LETTER_BAR = re.compile(
    r"(?<=\w)\s[Ilıǀ丨]\s*$|(?<=\w)\s(?:[Iıǀ丨]|ll?|II)\s(?=[^\W_a-zà-ÿ])(?!I\s|Am\b|Have\b)|"
    r"\s\\+\s|\s[-=~]*>+\s|\s::+\s|(?<=\w)\s[xX×]\s(?=[^\W\d_a-zà-ÿ])"
)
#: A list whose slashes stand between words without spaces: "Brand Manager/Mum of 3".
_LIST = re.compile(r"[^|¦•·–—]+")
_TIGHT_SLASH = re.compile(r"(?<=\w)/(?=\w)")
_LIST_END = re.compile(rf"\s-\s|,\s|{AT.pattern}", re.IGNORECASE)
#: Perhaps pronouns, or genders: "she/her", "(m/w/d)".
_GENDERS = re.compile(r"(?<!\w)[^\W\d]{1,6}(?:\s?[/|]\s?(?:[^\W\d]{1,6}|\*))+(?!\w)")
_BRACKETS = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_QUOTED = re.compile(r"[“\"«„][^“”\"«»„]{0,120}[”\"»“]")
_HASHTAG = re.compile(r"(?<!\w)#\w+")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]{1,64}@[^\s@]+\.\w+", re.IGNORECASE)
_YEAR_GAP = re.compile(r"((?:19|20)\d\d)\s?[-–—]\s?(?=(?:19|20)?\d\d\b)")
_YEARS = re.compile(
    r"(?:['’]|(?:19|20))\d\d\s?(?:[-–—/]|to|bis|à|a)\s?(?:['’]\d\d|(?:19|20)\d\d)"
    r"|(?<!\w)(?:19|20)\d\d\s?[-–—/]\s?\d\d(?![\w.,]*\d)"
)
_SINCE = re.compile(
    r"(?<!\w)(?:(?:since|seit|depuis|desde|dal|sinds|sedan|siden|od|din|från|fra|с|з)\s(?:\w+\s)?"
    r"(?:19|20)\d\d|(?:\w{3,9}\s)?(?:19|20)\d\d\s?[-–—]\s?(?:present|now|today|heute|"
    r"aujourd'hui|actualidad|presente|atual|oggi|heden|nu|obecnie|nuvarande|current|至今|現在|"
    r"현재))(?!\w)",
    re.IGNORECASE,
)
#: Characters around a bracket that say what it is.
_NEAR = 100
EDGES = " \t,;:.·-–—|/*_~!?&+"
#: Stands for a bracket that says that it is over: "(left in March)".
_OVER = "†"
_SPELL = (
    r"(?:years?|yrs|months?|decades?|ans|années|jahren?|años?|anni|anos|jaar|år|lat|latach|vuotta|"
    r"yıl|лет|років)"
)
#: "After ten years as", "seven years leading", "led".
_LONG_AGO = (
    r"(?<!\w)(?:spent|pendant|durante|gedurende|przez|after|following|nach|après|tras|dopo|após|"
    rf"davor|na|efter|po|после|після)\s(?:[\w-]+\s){{1,4}}?{_SPELL}(?!\w)|"
    rf"^\w+\+?\s{_SPELL}\s(?=[^\W\d_a-zà-ÿ])|"
    rf"^(?!\d)\w+\s{_SPELL}\s(?:in|lang|at|bei|chez|en|head|brand|leiter\w*|as|of)(?!\w)|"
    r"^\w+\s(?:лет|років)\s(?=(?:был|работал|руководил|вел|вёл|був|була|працюва|керува))|"
    r"^\w+\svuotta\s(?=\w+n[aä](?!\w))|"
    rf"(?<!\w)\w+\s{_SPELL}\s(?:as|als|comme|como|come|som|jako|leading|running|heading)(?!\w)|"
    r"(?-i:^(?:Var|Was|War|Ero|Era|Fui)\s|(?<!\w)(?:[Ll]ed|[Rr]an|[Hh]eaded)(?=\s(?!by)))"
)
_FORMER = re.compile(
    rf"(?<!\w)(?:ex|экс)[-–](?=\w)|{_LONG_AGO}|"
    r"(?:^|(?<=[\s/、,・(|]))(?:元(?![气気素宇祖年町])|前職|前(?=[^田川島原澤野山]{2})|曾任|曾在|"
    r"曾就职于|原(?=[A-Z]))[\s::]*|(?:^|(?<=[\s/,(|]))(?:전|前)(?:\)|\s+(?=\w))",
    re.IGNORECASE,
)
_UNTIL = (
    r"(?:until|till?|up\sto|bis|jusqu['’](?:en|à|au)|hasta|fino\s(?:al?|a)|até|tot|do|fram\still|"
    r"frem\stil|asti|до|ως|έως|până\sîn)"
)
#: The role that it is said of is over: "until 2021", "2019年まで".
_ENDED = re.compile(
    rf"{_OVER}|(?<=\w)[-\s](?:elect|designate|to-be)(?!\w)|(?<!\w){_UNTIL}\s(?:\w+\s){{0,2}}?"
    r"(?:(?:19|20)\d\d(?!\w)|(?:last|this)\s\w+|(?:vorige?|afgelopen|letzte[nrms]?|förra|sidste|"
    r"siste|zeszłego|ubiegłego|прошлого|минулого|loňského)\s\w+|i\sfjor|(?:l['’]|le\s|la\s)?\w+\s"
    r"(?:dernier|dernière)(?!\w)|(?:\w+['’])?\w+\s(?:pasad[oa]|passad[oa]|scors[oa])(?!\w)|"
    r"the\s(?:re-?org\w*|merger|lay-?offs?|sale|acquisition|closure|buy-?out|restructur\w+|"
    r"pandemic|exit|end)(?!\w))|\d{4}年(?:\d+月)?まで(?:は)?|\d{4}년까지|"
    r"(?:19|20)\d\d['’][ea]\skadar",
    re.IGNORECASE,
)
_WANTED = re.compile(r"\d{1,2}月(?:から|より)|\d{1,2}월부터|[来來](?:月|年|春)(?:から|より)")
_NOW = re.compile(
    r"(?-i:(?<=,\s)(?:nyt|ab(?!\s(?:sofort|dem|der)))\s(?=[a-z]))|(?:^|(?<=[\s/、,(|]))(?:現職|"
    r"現在|現(?=\s?\w)|现任|现)[\s::]*|(?:^|(?<=[\s/,(|]))(?:현재|현(?=\s))[\s::)]*",
    re.IGNORECASE,
)
#: "From January:", "ab Mai"; of languages that say "since" so too only where it stands first.
_FROM = re.compile(
    r"(?:(?<!\w)(?:from|starting|as\sof|ab|dès|vanaf|a\spartir\s(?:de|do)|"
    r"à\spartir\s(?:de|d['’]))|^(?:desde|dal|da|från|fra|od|din|с|з))\s",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"(?<=,\s)then\s|(?<!\w)next(?:\sup)?\s?:|(?<!\w)moving\sto|"
    r"(?<!\w)start(?:ing|s)?\s(?:soon|next|as|in|at)(?!\w)|"
    r"(?<!\w)hiring(?!\s(?:manager|lead|partner|coordinator|specialist|team))(?!\w)|"
    r"(?<!\w)future(?!\sof)(?!\w)|"
    r"(?<!\w)ab\s\d{1,2}\.\s?\d{0,2}\.?(?=\s)",
    re.IGNORECASE,
)
#: A former occupation: "brand manager turned ceramicist".
_TURNED = re.compile(
    r"^[^|]*?[\s-]turned[\s-]|^(?:[^|:]*:\s)?from\s[^|]+?\sto\s(?:an?\s)?(?=[^|]*$)",
    re.IGNORECASE,
)
#: What follows is another person's role: "on the Head of Brand's team".
_TEAM_OF = re.compile(
    r"(?<!\w)(?:on|in)\s(?:the|our)\s[^,|]{3,40}?['’]s?\steam(?!\w)", re.IGNORECASE
)
#: Words after "under the" and its like in which a leader is named.
_LEADER_WITHIN = 4
#: Numbers, quotations and sentences of one's own, which begin no role.
_TAGLINE = re.compile(
    r"[“\"«#]|i(?:\s(?!am\b)|['’](?!m\b))|(?:top|\w+)\s\d+\s?(?:under|over)\s?\d+|top\s\d|"
    r"\d+\s?(?:under|over)\s?\d+|\d+\+?\s?(?:years|yrs|ans|jahre|años|anos|anni|jaar|lat)\b|"
    r"\d[\d.,]*[km]?\+?\s?(?:followers|connections|seguidores|abonnés|kontakte|contactos)",
    re.IGNORECASE,
)
Span = tuple[int, int]


def _find(text: str, kind: str, pattern: re.Pattern[str], start: int = 0) -> Span | None:
    """Return the first place from *start* on of a term of *kind* or of *pattern*."""
    found = [
        (hit.start, -hit.end)
        for hit in piece(text).hits
        if hit.kind == kind and hit.start >= start
    ]
    found += [(hit.start(), -hit.end()) for hit in [pattern.search(text, start)] if hit]
    return (min(found)[0], -min(found)[1]) if found else None


def former(text: str, start: int = 0) -> Span | None:
    """Return where *text* turns to the past."""
    return _find(text, "past", _FORMER, start)


def now(text: str, start: int = 0) -> Span | None:
    """Return where *text* turns to today."""
    return _find(text, "now", _NOW, start)


def _wish(text: str) -> Span | None:
    return min(filter(None, (_find(text, "wish", _TO_COME), _coming(text))), default=None)


def _coming(text: str) -> Span | None:
    """Return the place of a date to come: "Head of Social from 1 September"."""
    for head in _FROM.finditer(text):
        rest = text[head.end() : head.end() + 24]
        if month := piece(rest).first("month"):
            return head.start(), head.end() + month.end
    return None


def segments(headline: str) -> list[Segment]:
    """Return the segments of *headline* that speak of today, in order."""
    text = _tidy(plain(headline))
    found = [Segment(_stripped(text), joint) for text, joint in _split(text)]
    return [segment for segment in _of_today(found) if segment.text]


def _tidy(text: str) -> str:
    text = _SINCE.sub(" ", _YEAR_GAP.sub(r"\1-", text))
    while (hit := piece(text).first("leave")) is not None:
        text = f"{text[: hit.start]} | {text[hit.end :]}"
    text = text.replace("،", ",").replace("؛", ";")
    text = _BRACKETS.sub(_bracketed, text)
    text = _GENDERS.sub(_without_pronouns, _ADDRESS.sub(" ", text))
    text = _LETTER_BAR.sub(" | ", _LIST.sub(_slashes, text))
    return re.sub(r" {2,}", " ", re.sub(r"\s+(?=[.,;!?](?:\s|$))", "", text)).strip()


def _without_pronouns(hit: re.Match[str]) -> str:
    return hit[0] if piece(hit[0]).left(frozenset({"pronoun"})) else " "


def _slashes(hit: re.Match[str]) -> str:
    """Read "Brand Manager/Mum of 3 at Acme" as "Brand Manager at Acme"."""
    end = _LIST_END.search(hit[0])
    listed, behind = (hit[0][: end.start()], hit[0][end.start() :]) if end else (hit[0], "")
    pieces = _TIGHT_SLASH.split(listed)
    kept = [each for each in pieces if names_role(each) or not _is_aside(each)]
    return f"{'/'.join(kept)} {behind}" if 0 < len(kept) < len(pieces) else hit[0]


def _is_aside(text: str) -> bool:
    return piece(text).has("no_role") or is_tagline(text)


def _bracketed(hit: re.Match[str]) -> str:
    """Keep that a role is over and what names its work; drop the rest or set it apart."""
    inner, near = hit[1].strip(), max(0, hit.start() - _NEAR)
    before, after = hit.string[near : hit.start()], hit.string[hit.end() :]
    text = piece(inner)
    if _is_over(inner):
        return f" {_OVER} "
    is_named = text.is_name and not (text.is_scope or text.is_place)
    is_work = family_named(text.text) is not Family.OTHER or text.has("other_partners")
    if is_work or (piece(before).has_level and text.is_scope and not text.is_place):
        return f", {inner}"
    alone = not (_SEPARATOR.search(before) or AT.search(before) or "," in before)
    return f" | {inner}" if not after and is_named and alone else " "


def is_tagline(text: str) -> bool:
    """Say whether *text* begins like what its writer stands for, not what they do."""
    text = text.strip()
    return piece(text).begins_with("tagline") is not None or _TAGLINE.match(text) is not None


def _split(text: str) -> list[tuple[str, str]]:
    """Split *text* at separators and ends of sentences, each piece with what stood before."""
    pieces: list[tuple[str, str]] = []
    joint, start = "", 0
    for hit in _SEPARATOR.finditer(text):
        pieces += _sentences(text[start : hit.start()], joint)
        joint = {"bar": "|", "dash": "-", "slash": "/"}[hit.lastgroup or "bar"]
        start = hit.end()
    return [*pieces, *_sentences(text[start:], joint)]


def _sentences(text: str, joint: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    start = 0
    for hit in _SENTENCE.finditer(text):
        last = _LAST_WORD.search(text, max(0, hit.start() - 12), hit.start())
        if last is None or not (len(last[1]) == 1 or piece(last[1]).has("abbreviation")):
            found.append((text[start : hit.start()], joint))
            joint, start = ".", hit.end()
    return [*found, (text[start:], joint)]


def _stripped(text: str) -> str:
    """Leave out quotations and hashtags, but "#OpenToWork": what stands after it is a wish."""
    text = _HASHTAG.sub(lambda hit: hit[0] if _wish(hit[0]) else " ", _QUOTED.sub(" ", text))
    return re.sub(r" {2,}", " ", text).strip(EDGES)


def _of_today(found: list[Segment]) -> list[Segment]:
    """Cut out what is past or wished for, to the end of its segment.

    A slash goes on with the past ("ex-Nike / Adidas"); a segment that is a bare wish ("Open
    to work") makes wishes of the segments after it that name no employer.
    """
    today: list[Segment] = []
    past = wish = wished = False
    for segment in found:
        text, joint = segment.text, segment.joint
        turn = now(text)
        starts_now = turn is not None and turn[0] == 0
        if (past or wish) and joint == "/" and not starts_now:
            continue
        if _YEARS.search(text):
            past = False
            continue
        if turn is not None and starts_now and _is_over(text[turn[1] :]):
            today.clear()
        texts, past, wish = _today(text)
        if wished and not AT.search(text):
            continue
        is_bare_wish = wish and not texts and len(piece(text).tokens) <= 3
        wished = wished or is_bare_wish or piece(text).has("seeker")
        today += [
            Segment(each.strip(EDGES), joint if not n else ",", is_now)
            for n, (each, is_now) in enumerate(texts)
        ]
    return today


def _is_over(text: str) -> bool:
    """Say whether *text* begins with what says that no role is held: "retired", "from May"."""
    words = piece(text)
    if words.begins_with("over") or words.begins_with("gone"):
        return True
    return words.begins_with("to_come") is not None and words.has("month")


#: A text about today, and whether "now" stood before it.
_Said = tuple[str, bool]


def _today(text: str) -> tuple[list[_Said], bool, bool]:
    """Return the pieces of *text* about today; whether it ends in the past; or in a wish."""
    text = _TURNED.sub("", _of_its_holder(text))
    if ended := _find(text, "gone", _ENDED):
        # "Until 2021 Brand Manager", or "Brand Manager until 2021".
        after = text[ended[1] :]
        if (turn := now(after)) is None:
            return [], True, False
        text = after[turn[0] :]
    if _find(text, "wanted", _WANTED):
        return [], False, True
    coming = _coming(text)
    if coming and not names_role(text[coming[1] :]) and not now(text):
        return [], False, True
    texts: list[_Said] = []
    wish = past = is_now = False
    for _ in range(8):
        then, wished = former(text), _wish(text)
        first = min(filter(None, (then, wished)), default=None)
        if first is None:
            past = False
            texts.append(_without_now(text, is_now=is_now))
            break
        texts.append(_without_now(text[: first[0]], is_now=is_now))
        past, wish = first == then, wish or first == wished
        turn = now(text, first[1])
        if turn is None or not text[first[1] : turn[0]].strip(EDGES):
            break
        text, is_now = text[turn[1] :], True
    return [each for each in texts if each[0].strip(EDGES)], past, wish


def _of_its_holder(text: str) -> str:
    """Leave out the person its holder reports to, but not the employer after it."""
    hit = _reports_to(text)
    if hit is None:
        return text
    before, after = text[: hit[0]].strip(EDGES), text[hit[1] :]
    if at := AT.search(after):
        return f"{before} {after[at.start() :]}" if before else ""
    _, comma, last = after.rpartition(",")
    return f"{before}, {last}" if before and comma and not names_role(last) else before


def _reports_to(text: str) -> Span | None:
    """Return where *text* says to which person its holder reports."""
    found = [hit.span() for hit in [_TEAM_OF.search(text)] if hit]
    for hit in piece(text).hits:
        if hit.kind == "reports_to":
            found.append((hit.start, hit.end))
        elif hit.kind == "near_leader":
            words = text[hit.end :].split()[:_LEADER_WITHIN]
            if piece(" ".join(words)).has("head", "director", "vp", "c_level", "manager"):
                found.append((hit.start, hit.end))
    return min(found, default=None)


def _without_now(text: str, *, is_now: bool) -> _Said:
    """Leave out "Currently" before a role."""
    text = text.strip(EDGES)
    turn = now(text)
    return (text[turn[1] :], True) if turn and turn[0] == 0 else (text, is_now)
