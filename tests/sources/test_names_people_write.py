"""The bundled directory, asked as people ask: every spelling, and what it must leave open.

One table, so that a rule that helps one kind and hurts another shows both at once.  None
stands for "not this brand, and no other": no match, or ambiguous.
"""

import pytest

from sources.indexes import Resolver

Row = tuple[str | None, str | None, str | None]

BY_NAME: dict[str, dict[str, str | None]] = {
    "case and spacing": {"pATAGONIA": "patagonia.com", "Duo lingo": "duolingo.com"},
    "punctuation": {"T.K.Maxx": "tkmaxx.com", "Sainsburys": "sainsburys.co.uk"},
    "and": {"Marks + Spencer": "marksandspencer.com", "Barnes n Noble": "barnesandnoble.com"},
    "accents": {"Citroen": "citroen.com", "Nocibe": "nocibe.fr"},
    "two letters": {"Hunkemoeller": "hunkemoller.com", "Laederach": "laderach.com"},
    "legal forms": {
        "Rossmann GmbH": "rossmann.de",
        "Mango S.A.": "mango.com",
        "Caprabo S.A.U.": "caprabo.com",
    },
    "legal forms of the world": dict.fromkeys(
        (
            *(
                "Miele Sp. z o.o.",
                "Miele, S. de R.L. de C.V.",
                "Miele Sdn. Bhd.",
                "PT Miele Tbk",
            ),
            *(
                "株式会社Miele",
                "Miele 有限公司",
                "주식회사 Miele",
                "ООО «Miele»",
                "Miele Ltd. Şti.",
            ),
            *("Miele & Cie. KG", "Miele e.K.", "Miele S.C.A.", "UAB Miele", "Miele NV/SA"),
            *("Miele Private Limited", "Công ty TNHH Miele", "Miele A.E.", "Miele K.K."),
        ),
        "miele.com",
    ),
    "group words": {"Miele Gruppe": "miele.com", "Macy's Stores": "macys.com"},
    "group words behind": {"Desjardins Groupe": "desjardins.com"},
    "signs": {"Oakley™": "oakley.com", "LEGO®": "lego.com"},
    "plural, possessive": {"Nike's": "nike.com", "Birkenstocks": "birkenstock.com"},
    "one letter": {"Swarowski": "swarovski.com", "Decatlhon": "decathlon.com"},
    "a little known name's letters swapped": {"Babeilo": "babelio.com"},
    "a famous name's letter left out": {"Lacost": "lacoste.com", "Adids": "adidas.com"},
    "heard as written otherwise": {"Vodaphone": "vodafone.com"},
    "a short word's letter": {"Michael Hil Jeweller": "michaelhill.com.au"},
    "from a list": {"1. Pep Boys": "pepboys.com", "Brand: Zara Home": "zarahome.com"},
    "two letters wrong": {"Tomy Hilfigger": "tommy.com", "Micheal Kohrs": "michaelkors.com"},
    "a letter moved": {"Lambhorgini": "lamborghini.com", "Calvin Kline": "calvinklein.com"},
    "scripts": {"スターバックス": "starbucks.com", "Бургер Кинг": "bk.com"},
    "heard in scripts": {
        "Шанель": "chanel.com",
        "Лакост": "lacoste.com",
        "シャネル": "chanel.com",
    },
    "abbreviations": {"VW": "vw.com", "DQ": "dairyqueen.com", "F45": "f45training.com"},
    "former names": {"Facebook": "meta.com", "Statoil": "equinor.com"},
    "sub-brands": {"Home2 Suites by Hilton": "hilton.com", "Old Navy": "oldnavy.com"},
    "branches": {"Tk Maxx UK": "tkmaxx.com"},
    "written as domain": {"www.nike.com": "nike.com", "https://zara.com/": "zara.com"},
    "handles": {"@nike": "nike.com"},
    "famous namesakes": {"Puma": "puma.com", "Target": "target.com", "Lidl": "lidl.com"},
    "shared names": dict.fromkeys(
        ("Travelodge", "Checkers", "Liberty", "Price Chopper", "Crown")
    ),
    # A plural of a little known name, and a famous one with a letter wrong.
    "plural or typo": {"Marshals": None},
    # Written so by a little known bank, and nearly so by a larger one.
    "a better known name nearly the same": {"MT Bank": None},
    "legal forms alone": dict.fromkeys(("GmbH", "Inc.", "S.A.", "GmbH & Co. KG", "Co., Ltd.")),
    "unknown": dict.fromkeys(
        (
            *("Dysona", "Adidiwear", "Sephira Jewels", "Starbarks Dog Treats", "Body"),
            *("Zarra Textiles", "Subwave Audio", "Lidlow Farm Cheese", "Wendy Ashcombe"),
            *("Petit Gateau", "Dollar Llama", "Fedora Express", "Louis Button", "Siemann"),
            *("Chanelle Bakes", "Red Lobstar Tattoo", "Spec Sailors"),
            *("Nikee", "Abidas", "Pumba", "Rolexa", "Ikeah", "Pradia", "Chanelle", "Gapp"),
            *("дишу", "долу", "Шарлана", "ラカッタ", "Локста"),
        )
    ),
}
BY_DOMAIN: list[Row] = [
    # Countries, subdomains, aliases of a domain.
    (None, "sephora.fr", "sephora.com"),
    (None, "underarmour.it", "underarmour.com"),
    (None, "eu.lululemon.co.uk", "lululemon.com"),
    (None, "www2.shop.adidas.com", "adidas.com"),
    (None, "oldnavy.gap.com", "oldnavy.com"),
    (None, "hpb.com", "halfpricebooks.com"),
    (None, "bmwgroup.com", "bmw.com"),
    (None, "razer.de", "razer.com"),
    (None, "shop.daenischesbettenlager.de", "jysk.com"),
    (None, "diy.com", "bandq.com"),
    (None, "tfl.gov.uk", None),
    (None, "omv.bg", None),
    (None, "nike.myshopify.com", None),
    (None, "nikestore.example", None),
    # With a name: they agree, ...
    ("Travelodge", "travelodge.co.uk", "travelodge.co.uk"),
    ("Puma", "pumaenergy.com", "pumaenergy.com"),
    ("Zara", "zara.de", "zara.com"),
    ("Niike", "nike.com", "nike.com"),
    ("Nike Football", "store.nike.com", "nike.com"),
    ("Dove", "unilever.com", "unilever.com"),
    ("Sephora", "sephora.fr", "sephora.com"),
    ("B&Q", "diy.com", "bandq.com"),
    # ... or contradict each other.
    ("Nike", "adidas.com", None),
    ("Puma Energy", "puma.com", None),
    ("Dove", "nike.com", None),
    ("Pepsi", "unilever.com", None),
    ("Nike", "diy.com", None),
    ("Rose & Thimble Atelier", "chanel.com", None),
    ("Nike", "nobody-knows.example", None),
]


@pytest.mark.slow  # 1 s of CPU: the whole directory, with the index of looser forms
async def test_the_bundled_directory_is_asked_as_people_ask() -> None:
    resolver = Resolver()
    by_name: list[Row] = [(n, None, d) for kind in BY_NAME.values() for n, d in kind.items()]
    other = []
    for brand, domain, expected in by_name + BY_DOMAIN:
        told = await resolver.domain_of(brand, domain)
        if told != expected:
            other.append((brand, domain, expected, told))

    assert other == []
