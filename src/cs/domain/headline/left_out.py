"""Why somebody who was found is not shown, by what their headline and company say.  Pure.

It explains what was decided (`cs.domain.ranking`) and decides nothing: the first reason that
the words give, from the plainest calling on.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from cs.domain.headline import time_words
from cs.domain.headline import words as headline_words
from cs.domain.headline.family_words import INFLUENCER
from cs.domain.headline.role import JobRole, classify
from cs.domain.headline.role_family import is_creator
from cs.domain.headline.spelling import flat
from cs.domain.names.phrases import Phrases
from cs.domain.names.plain_text import plain

#: Why a person found is not ranked, as it is stored.
#:
#: ``recruiter``: finds people for others' roles.  ``creator``: is one, and works with none.
#: ``agency``: of an agency, which serves brands.  ``seller``: of a firm whose product is for
#: influencer marketing.  ``former``: had such a role, or worked for the brand, and does not
#: today.  ``namesake``: of another company whose name has the brand's in it.
#: ``other-company``: of any other.  ``not-eligible``: none of the four families, or below
#: manager.  ``over-limit``: more people than are shown.
Why = Literal[
    "recruiter",
    "creator",
    "agency",
    "seller",
    "former",
    "namesake",
    "other-company",
    "not-eligible",
    "over-limit",
]

#: A firm that serves brands, by a word of its name or of what it is.
_AGENCY = Phrases(
    """
    agency agencies agence agences agentur agenturen werbeagentur mediaagentur kreativagentur
    agencia agencias agenzia agenzie bureau byra reklambyra mediabyra bureauet reklamebureau
    toimisto mainostoimisto agencja agencji agentura ajans ajansi ugynokseg consultancy
    реклама агентство агентства πρακτορειο
    """,
    "代理店 エージェンシー 에이전시 대행사 代理商 广告公司 廣告公司",
)
#: What somebody who sells a product does.
_SELLING = Phrases(
    """
    sales selling account_executive account_manager sdr bdr business_development seller vendor
    vertrieb* verkauf* vente ventes commercial commerciale comercial ventas vendas vendite
    forsaljning* salg* saljare verkoop* sprzedaz* satis myynti ertekesit*
    founder co_founder cofounder ceo grunder* fondateur fondatrice fundador* fondatore
    fondatrice oprichter
    """,
    "営業 영업 销售 創業者 창업자 创始人",
)
#: Between the callings of one headline.
_PIECES = re.compile(r"\s*[|•·;/&+]\s*|\s+(?:[-–—]|and|und|et|y|e|og|och|en|i)\s+|,\s+")
#: What dates a role to the past, as written: "(2019-2021)", "until 2021".
_DATED = re.compile(
    r"[(\[][^()\[\]]*\d{4}[^()\[\]]*[)\]]|\b(?:19|20)\d\d\s?[-–—]\s?(?:19|20)?\d\d\b"
)
#: Characters behind a word for the past in which the firm of then is named.
_BEHIND = 80


def why_left_out(
    headline: str, role: JobRole, companies: Sequence[str], brand: Iterable[str]
) -> Why:
    """Return why somebody is not shown whom *role*, read of *headline*, does not show.

    Args:
        headline: As the person wrote it.
        role: Read of it: not eligible, or held at none of the names in *brand*.
        companies: Where they work, as they or a source say.
        brand: What the brand, and its parent, are called.

    >>> why_left_out("Recruiter for brand roles", classify("Recruiter"), [], ["Acme"])
    'recruiter'
    """
    written = plain(headline)
    said = flat(written)
    if headline_words.RECRUITER.found(said):
        return "recruiter"
    if not role.eligible and _is_creator(written, role):
        return "creator"
    names = [name for each in brand if (name := flat(plain(each)))]
    if _was_there(written, names):
        return "former"
    firms = " ".join(flat(plain(company)) for company in companies)
    at_work = f"{said} {firms}"
    if _AGENCY.found(at_work):
        return "agency"
    of_influencers = INFLUENCER.found(at_work)
    if of_influencers and headline_words.PRODUCT.found(at_work):
        return "seller"
    if role.eligible:
        return "namesake" if _holds_any(firms, names) else "other-company"
    if of_influencers and _SELLING.found(said):
        return "seller"
    return "former" if _held_one(written) else "not-eligible"


def _is_creator(written: str, role: JobRole) -> bool:
    """Say whether one of the callings, where they stand side by side, is a creator's."""
    pieces = _PIECES.split(written if role.title is None else role.title)
    return any(is_creator(piece) for piece in pieces if piece)


def _was_there(written: str, names: Sequence[str]) -> bool:
    """Say whether a word for the past stands before one of *names*: "ex-Acme"."""
    return any(
        _holds_any(flat(written[hit.end() : hit.end() + _BEHIND].partition("|")[0]), names)
        for hit in time_words.FORMER.finditer(written)
    )


def _holds_any(text: str, names: Iterable[str]) -> bool:
    """Say whether *text*, flat, has one of the flat *names* in it, as whole words."""
    return any(f" {name} " in f" {text} " for name in names)


def _held_one(written: str) -> bool:
    """Say whether *written* would name a role of today without its words for the past."""
    undated = _DATED.sub(" ", written)
    past = time_words.FORMER.search(undated)
    if past is not None:
        return classify(undated[past.end() :].strip(" ,:-–|")).eligible
    return undated != written and classify(undated).eligible
