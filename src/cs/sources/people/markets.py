"""The language that people of a brand's home market write their headlines in.  Pure.

A country's own ending of a domain says where a brand is at home; ``.com`` and the like say
nothing, and English is asked for everywhere.  The words are those that headlines of the market
use for the roles that are looked for, so each is one that the classifier of headlines knows.
"""

import msgspec


class Market(msgspec.Struct, frozen=True):
    """Where a brand is at home.

    Attributes:
        country: ISO 3166 alpha-2, lower case.
        language: ISO 639-1.
        words: What its people call influencer and social media marketing.
    """

    country: str
    language: str
    words: str


_WORDS = {
    "de": "Leiter Influencer Marketing Social Media",
    "fr": "responsable marketing d'influence réseaux sociaux",
    "es": "responsable marketing de influencers redes sociales",
    "pt": "gerente de marketing de influência redes sociais",
    "it": "responsabile influencer marketing social media",
    "nl": "hoofd influencer marketing sociale media",
    "pl": "kierownik influencer marketing media społecznościowe",
    "sv": "chef influencer marketing sociala medier",
    "da": "chef influencer marketing sociale medier",
    "no": "leder influencer marketing sosiale medier",
    "fi": "vaikuttajamarkkinointi päällikkö sosiaalinen media",
    "cs": "vedoucí influencer marketing sociální sítě",
    "tr": "influencer pazarlama müdürü sosyal medya",
    "ja": "インフルエンサーマーケティング マネージャー SNS",
    "ko": "인플루언서 마케팅 팀장 소셜",
    "zh": "达人 营销 总监 社交媒体",
    "ru": "руководитель инфлюенс маркетинг социальные сети",
    "id": "manajer influencer marketing media sosial",
}
#: By language the endings of domains that speak it.
_ENDINGS = {
    "de": "de at ch",
    "fr": "fr be",
    "es": "es mx ar cl pe co.cr com.co",
    "pt": "pt br",
    "sv": "se",
    "da": "dk",
    "cs": "cz",
    "ja": "jp",
    "ko": "kr",
    "zh": "cn tw",
}
_LANGUAGE_OF = {
    ending: language
    for language in _WORDS
    for ending in _ENDINGS.get(language, language).split()
}


def market_of(domain: str | None) -> Market | None:
    """Return the market of *domain*, of those whose people write in another language.

    >>> market_of("shop.acme.de").language, market_of("acme.com.br").country
    ('de', 'br')
    >>> market_of("acme.com"), market_of("acme.co.uk"), market_of(None)
    (None, None, None)
    """
    labels = (domain or "").lower().split(".")
    country = labels[-1]
    language = _LANGUAGE_OF.get(".".join(labels[-2:])) or _LANGUAGE_OF.get(country)
    if len(labels) < 2 or language is None:
        return None
    return Market(country, language, _WORDS[language])
