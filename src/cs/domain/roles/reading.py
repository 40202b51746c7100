"""A headline read: the roles that its writer says they hold, and where.

Each segment is labelled: a role (it has a level word, a calling or an employer), a name
(perhaps the employer of the role next to it), a topic (a line of work, not a role) or
nothing of interest.
"""

import re
from enum import Enum, auto
from functools import lru_cache

import msgspec

from cs.domain.names.brand_match import LEGAL_FORMS
from cs.domain.roles.labels import (
    Family,
    family_named,
    family_of,
    is_bare,
    is_creator,
    is_work,
    names_role,
)
from cs.domain.roles.lexicon import LEVELS
from cs.domain.roles.piece import SCOPE, Piece, piece
from cs.domain.roles.segments import AT, Segment, is_tagline, segments


class ClaimedRole(msgspec.Struct, frozen=True):
    """A role that a person claims to hold, as written, and the employer.

    ``is_guess``: no word of it is known, but where it stands callings do.
    """

    role: str
    company: str | None = None
    is_guess: bool = False


class HeadlineReading(msgspec.Struct, frozen=True):
    """Reading of a headline: the roles of today in order, and the lines of work it lists."""

    claims: tuple[ClaimedRole, ...] = ()
    topics: tuple[str, ...] = ()


class Label(Enum):
    """Kind of a part of a headline."""

    ROLE = auto()
    NAME = auto()
    TOPIC = auto()
    NOTHING = auto()


class Item(msgspec.Struct, frozen=True):
    """A labelled part of a headline.  ``joint`` is what stood before it."""

    label: Label
    text: str
    company: str | None = None
    joint: str = ""
    is_loose: bool = False  # the company stood in a comma list: it may be a scope


_NETWORK = re.compile(
    r"\s*(?:[|•·]|[-–—])\s*(?:LinkedIn|领英|領英|링크드인)(?:\s[^|]{0,30})?\s*$", re.IGNORECASE
)
#: Some firms write themselves small: "adidas".
_ONE_WORD = re.compile(r"[a-z]{3,}")
#: After a role, and no part of it: "for global brands", "with 10 years", to the employer.
_TAIL = re.compile(
    r"\s(?:for|to|für|pour|para|per|voor)\s(?:[\w&-]+\s){0,4}?(?:brands|clients|companies|"
    r"businesses|agencies|campaigns|founders|start-?ups|scale-?ups|marken|marques|marcas|merken)\b|"
    r"\s(?:with|mit|avec|con|com)\s\d+\b",
    re.IGNORECASE,
)
_EMPLOYER_AT_END = re.compile(r",\s[^\W\d_a-zà-ÿ][^,]*$")
_ARTICLE = re.compile(
    r"\s*:?\s*(?:(?:an?|the|der|die|das|le|la|el|o|uma?|il|una?|een)\s)?", re.IGNORECASE
)
_BESIDE = re.compile(r"\s(?:&|\+|and)\s")


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


@lru_cache(1_024)
def read(headline: str) -> HeadlineReading:
    """Return what *headline* says of the roles of its writer today.

    >>> read("Founder @ Small Batch Soap | Brand Manager at Weleda").claims[1].company
    'Weleda'
    """
    written = _NETWORK.sub("", headline.strip()[:4_000])
    items = [item for segment in segments(written) for item in _items(segment)]
    items = _join(_without_roles_to_fill(items))
    claims = tuple(
        _claim(item, item.company or _neighbour(items, n))
        for n, item in enumerate(items)
        if item.label is Label.ROLE
    )
    if not claims and (guess := _guess(items, written)):
        claims = (guess,)
    return HeadlineReading(claims, tuple(i.text for i in items if i.label is Label.TOPIC))


def _guess(items: list[Item], headline: str) -> ClaimedRole | None:
    """Take one unknown word for a calling, if an employer or what is past stands next to it.

    For example: "Könyvelő, OTP Bank", or "Könyvelő, formerly Brand Manager at Acme".
    """
    said = [item.text for item in items if not piece(item.text).has("no_role")]
    if len(said) == 1:
        said = [each.strip() for each in said[0].split(",", 1)]
    if not said or not may_be_calling(said[0]) or " " in said[0]:
        return None
    if len(said) == 1 and piece(headline).has("past", "no_role", "gone"):
        return ClaimedRole(said[0], is_guess=True)
    if len(said) == 2 and piece(said[1]).is_name:
        return ClaimedRole(said[0], said[1].lstrip("@ "), is_guess=True)
    return None


def _claim(item: Item, company: str | None) -> ClaimedRole:
    role, company = (item.text, company) if company else name_at_end(item.text)
    return ClaimedRole(role, (company or "").lstrip("@ ") or None)


def _neighbour(items: list[Item], n: int) -> str | None:
    """Return the name that stands next to role *n*: after it, else before it.

    Creators have none: the names next to them are brands they are proud of.
    """
    if is_creator(items[n].text):
        return None
    for item in items[n + 1 :]:
        if item.label is Label.NAME:
            return item.text
        if item.label is Label.ROLE:
            if item.joint == "/" and item.company:
                return item.company
            break
    return items[n - 1].text if n and items[n - 1].label is Label.NAME else None


# Label: a segment becomes items.


def _items(segment: Segment) -> list[Item]:
    """Return the items of a segment: mostly one, more if it names several employers."""
    items: list[Item] = []
    text, joint = segment.text, segment.joint
    for _ in range(6):
        role, company, rest = split_at(text)
        items += _role_items(role, company, joint)
        if not rest:
            break
        text, joint = rest, ","
    if segment.is_now and len(items) == 1 and may_be_calling(items[0].text):
        items = [msgspec.structs.replace(items[0], label=Label.ROLE)]
    return items


def _role_items(text: str, company: str | None, joint: str) -> list[Item]:
    if is_tagline(text) and not _ends_in_role(text):
        return []
    lead_in = piece(text).begins_with("lead_in")
    if lead_in and (rest := _ARTICLE.match(text, lead_in.end)):
        text = text[rest.end() :]
    text = _without_tail(text).strip(" ,.:-–")
    own, colon, _ = text.partition(":")
    if colon and piece(own).has("recruiter"):
        text = own.strip()  # what follows are roles for others
    if not text:
        return [Item(Label.NAME, company, None, joint)] if company else []
    role, employer = _by_commas(text, marked=company is not None)
    if is_sentence(role) and family_named(role) is not Family.OTHER:
        return []
    label = _label(role, marked=company is not None)
    if label is Label.ROLE and not (company or employer):
        employer, role = unspaced_firm(role)
        return [Item(label, role, employer, joint)]
    return [Item(label, role, company or employer, joint, is_loose=company is None)]


def _without_tail(text: str) -> str:
    """Leave out what follows a role and is no part of it, but not an employer at the end."""
    starts = [hit.start() for hit in [_TAIL.search(text)] if hit]
    starts += [
        hit.start
        for hit in piece(text).hits
        if hit.kind == "tail" and hit.start and text[hit.start].islower()
    ]
    if not starts:
        return text
    employer = _EMPLOYER_AT_END.search(text, min(starts))
    return text[: min(starts)].rstrip() + (employer[0] if employer else "")


def is_sentence(text: str) -> bool:
    """Say whether *text* has words that no title has; Turkish "iş", work, is not "is".

    >>> is_sentence("our Head of Brand search is open"), is_sentence("İş Birlikleri Lideri")
    (True, False)
    """
    return piece(text.replace("ş", "sh")).has("sentence")


def _ends_in_role(text: str) -> bool:
    """Say whether a list ends in a role: "Mom, runner, Head of Social"."""
    return any(_label(each.strip(), marked=False) is Label.ROLE for each in text.split(",")[1:])


def _label(text: str, *, marked: bool) -> Label:
    """Return what *text* is; *marked* says that an employer is named with it."""
    words = piece(text)
    if not words.tokens or (words.has("no_role") and not _ends_in_role(text)):
        return Label.NOTHING
    if words.has_level or words.has(*JOB, "filler"):
        return Label.ROLE
    if words.is_offer:
        return Label.NOTHING
    if marked or is_creator(text):
        return Label.ROLE
    if words.is_firm and not words.is_scope:
        return Label.NAME
    if words.is_scope:
        return Label.TOPIC
    if words.is_address:
        return Label.NOTHING
    if family_named(text) is not Family.OTHER and not words.is_name:
        return Label.TOPIC
    if words.is_name or not text.isascii() or _ONE_WORD.fullmatch(text):
        return Label.NAME
    return Label.NOTHING


def _without_roles_to_fill(items: list[Item]) -> list[Item]:
    """Leave out the roles that a recruiter names next to their own: they are for others."""
    finds = (i.label is Label.ROLE and piece(i.text).has("recruiter") for i in items)
    own = next((n for n, is_recruiter in enumerate(finds) if is_recruiter), None)
    if own is None:
        return items
    return [
        item
        for n, item in enumerate(items)
        if n <= own or item.label is not Label.ROLE or (item.company and not item.is_loose)
    ]


# A comma list within a segment: the role, its scope, an employer, asides.


def _by_commas(text: str, *, marked: bool) -> tuple[str, str | None]:
    """Return the role in a comma list, and the employer if an unmarked one is in it."""
    pieces = [each.strip() for each in re.split(r"\s*,\s+|,(?=\D)", text) if each.strip()]
    first = next((n for n, each in enumerate(pieces) if _begins_role(each)), None)
    if first is None or len(pieces) == 1:
        return _without_asides(text), None
    role, company = [_without_asides(pieces[first])], None
    for n, each in enumerate(pieces[first + 1 :], first + 1):
        words = piece(each)
        if words.has("filler", "no_role") or (words.is_offer and not marked):
            break
        part = _part_of_role(pieces, n, role[0], marked=marked)
        if part is None:
            break
        if not part:
            company = each
            break
        role.append(each)
    return ", ".join(role), company


def _part_of_role(pieces: list[str], n: int, role: str, *, marked: bool) -> bool | None:
    """Say whether piece *n* is part of the role; False: the employer; None: neither."""
    each, words = pieces[n], piece(pieces[n])
    if marked:
        return True
    following = pieces[n + 1 : n + 2]
    is_before_name = bool(following) and _is_before_name(each, following[0])
    if is_work(each) and is_before_name:
        return True
    is_founders = piece(role).has("founder") and not words.has_level and not words.is_place
    if (words.is_firm and not words.is_scope) or is_founders:
        return False
    if words.is_scope or words.is_place or words.has_level:
        return True
    if words.is_name and not (is_bare(role) and is_work(each)):
        # "Brand Manager, Dove, Unilever"
        return is_before_name and family_named(role) is Family.BRAND and not words.is_firm
    return True if is_work(each) or is_before_name else None


def _is_before_name(each: str, following: str) -> bool:
    """Say whether *each* is a few words before the employer: "student living, Unite"."""
    few = len(each.split()) <= 3 and not is_tagline(each)
    return few and piece(following).is_name and not piece(following).is_place


def _begins_role(text: str) -> bool:
    if piece(text).has("no_role", "filler") or is_tagline(text):
        return False
    return names_role(text) or piece(text).has(*JOB)


def _without_asides(text: str) -> str:
    """Leave out a mere calling next to a role: "Speaker & Head of Social"."""
    sides = _BESIDE.split(text, maxsplit=1)
    if len(sides) == 2 and any(piece(side).has_level for side in sides):
        kept = [side for side in sides if piece(side).has_level or not _is_aside(side)]
        return kept[0] if len(kept) == 1 else text
    return text


def _is_aside(text: str) -> bool:
    return piece(text).has("filler") or (" " in text and is_creator(text))


# Choose: a role, its scope and its employer may be parted by bars.


def _join(items: list[Item]) -> list[Item]:
    """Join "Director - Influencer Marketing" and its like into one role."""
    joined: list[Item] = []
    for n, item in enumerate(items):
        last = joined[-1] if joined else None
        following = items[n + 1] if n + 1 < len(items) else None
        if last is not None and _is_firm_of(last, item):
            joined.append(Item(Label.NAME, item.text, None, item.joint))
        elif last is not None and (
            _is_one_role(last, item) or _is_scope_before_name(last, item, following)
        ):
            text = f"{last.text}, {item.text}"
            joined[-1] = Item(Label.ROLE, text, last.company or item.company, last.joint)
        else:
            joined.append(item)
    return _topic_as_role(
        [_scope_not_employer(item, joined[n + 1 : n + 2]) for n, item in enumerate(joined)]
    )


def _topic_as_role(items: list[Item]) -> list[Item]:
    """Take "Partnerships | Acme" for a role without a level: one line of work, one firm."""
    if [item.label for item in items] != [Label.TOPIC, Label.NAME]:
        return items
    return [Item(Label.ROLE, items[0].text, items[1].text)]


def _is_firm_of(last: Item, item: Item) -> bool:
    """Say whether *item*, called like a role, employs *last*: "Bookkeeper | Leads Ltd"."""
    return (
        last.label is Label.ROLE
        and item.label is Label.ROLE
        and not (last.company or item.company or "," in item.text)
        and item.joint in {"-", "|"}
        and piece(item.text).is_firm
    )


def _is_scope_before_name(last: Item, item: Item, following: Item | None) -> bool:
    """Say whether *item* parts a role from its employer: "Head of Brand - UK - Acme"."""
    if last.label is not Label.ROLE or last.company or item.joint != "-":
        return False
    if following is None or following.label is not Label.NAME:
        return False
    if following.joint == "|" and item.label is Label.TOPIC:
        return piece(last.text).has_level and not piece(following.text).is_place
    if following.joint != "-":
        return False
    if item.label is Label.NAME:
        return family_of(last.text) is Family.BRAND and not piece(item.text).is_firm
    return item.label is Label.TOPIC or (
        item.label is Label.NOTHING
        and item.text[:1].islower()
        and not (is_tagline(item.text) or piece(item.text).has("product", "living"))
    )


def _scope_not_employer(item: Item, following: list[Item]) -> Item:
    """Take "Cheerios" of "Brand Manager, Cheerios | General Mills" for a scope."""
    if item.is_loose and item.company and following and following[0].label is Label.NAME:
        return Item(item.label, f"{item.text}, {item.company}", None, item.joint)
    return item


def _is_job(words: Piece) -> bool:
    return words.has_level or words.is_scope or words.has(*JOB)


def _is_one_role(last: Item, item: Item) -> bool:
    """Say whether *item* goes on with the role or the topic before it."""
    words, before = piece(item.text), piece(last.text)
    if item.joint == "/" and last.company is None and _is_one_over_slash(last, item):
        return True
    if (last.label, item.label) == (Label.TOPIC, Label.ROLE):
        return is_bare(item.text) and item.joint != "."
    if last.company is not None or last.label is not Label.ROLE or item.joint == ".":
        return False
    if item.label is Label.ROLE and item.company and not _is_job(words):
        # "Brand Manager - Cheerios at General Mills"
        return item.joint == "-" and before.has_level
    goes_on = item.joint == "-" and family_of(last.text) is Family.OTHER
    return words.is_scope and (goes_on or is_bare(last.text))


def _is_one_over_slash(last: Item, item: Item) -> bool:
    """Say whether a slash joins the two: "Social Media / Influencer Manager"."""
    words, before = piece(item.text), piece(last.text)
    if item.label is Label.ROLE and last.label is not Label.NAME and words.ends_in(*LEVELS):
        return before.is_scope
    is_scope = item.label is Label.TOPIC or is_creator(item.text)
    return is_scope and words.is_scope and before.has_level and not before.ends_in(*LEVELS)


# Part a role from its employer within one segment.


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
