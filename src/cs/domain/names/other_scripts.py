"""Names in other scripts in Latin letters: as they are heard, not as they are spelt.

Only scripts that write vowels, so that what comes out can be compared; a name in Han
characters, Arabic or Hebrew says too little of how it sounds.  Pure.
"""

import unicodedata


def _parts(text: str) -> list[str]:
    return text.split()


_CYRILLIC = dict(
    zip(
        "абвгґдеёжзиіїйклмнопрстуўфхцчшщъыьэєюяѓѕјљњќћђџ",
        _parts(
            "a b v g g d e e zh z i i i y k l m n o p r s t u u f h ts ch sh sh _ y _ e e yu "
            "ya g dz j lj nj k c dj dz"
        ),
        strict=True,
    )
)
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρσςτυφχψω",
        _parts("a v g d e z i th i k l m n x o p r s s t y f ch ps o"),
        strict=True,
    )
)
_GREEK_PAIRS = {"γκ": "g", "μπ": "b", "ντ": "d", "ου": "u"}
_VOWELS = "aiueo"
#: Kana are called by their sounds, but for these (Hepburn), and for some that are obsolete.
_HEPBURN = {"SI": "shi", "TI": "chi", "TU": "tsu", "HU": "fu", "ZI": "ji", "WO": "o"}
_OBSOLETE = frozenset("ヮヰヱヵヶ")
_SMALL = dict(zip("ァィゥェォャュョ", ("a", "i", "u", "e", "o", "ya", "yu", "yo"), strict=True))
_INITIAL = tuple(_parts("g kk n d tt r m b pp s ss - j jj ch k t p h"))
_MEDIAL = tuple(_parts("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i"))
_FINAL = tuple(_parts("- k k k n n n t l k m l l l p l m p p t t ng t t k t p t"))
#: Of one sound: what it is written as here, and elsewhere.
_RESPELT = (("sh", "ch"), ("k", "c"), ("r", "l"), ("eo", "u"))
#: Shorter ones are heard in any word: of 6,000 made of random syllables six were brands.
_SHORTEST = 5
_HANGUL = range(0xAC00, 0xD7A4)
_HIRAGANA = range(0x3041, 0x3097)


def transliterated(key: str) -> str | None:
    """Return *key* in Latin letters, or None if it is in no script that can be read so.

    >>> transliterated("адидас"), transliterated("セフォラ"), transliterated("adidas")
    ('adidas', 'sefora', None)
    """
    if key.isascii():
        return None
    heard: list[str] = []
    text = unicodedata.normalize("NFC", key.casefold())
    for pair, letter in _GREEK_PAIRS.items():
        text = text.replace(pair, letter)
    for char in text:
        said = _said(char, heard)
        if said is None:
            return None
        heard.append(said)
    return "".join(heard).replace("-", "").replace("_", "")


def transliterations(key: str) -> tuple[str, ...]:
    """Return what a name heard as *key* may have been in Latin letters, likeliest first.

    Japanese and Korean put a vowel behind every consonant, and write "ph" as "f".

    >>> transliterations("アディダス")
    ('adidasu', 'adidas')
    """
    heard = transliterated(key)
    if heard is None:
        return ()
    closed = heard.replace("eu", "").removesuffix("u")
    both = dict.fromkeys((heard, closed) if closed else (heard,))
    return tuple(dict.fromkeys([*both, *(each.replace("f", "ph") for each in both)]))


def respellings(key: str) -> tuple[str, ...]:
    """Return how else a name heard as *key* may be spelt, as French and English spell it.

    Many names sound like one of these: to be held against well-known names alone.

    >>> "chanel" in respellings("シャネル"), "lacoste" in respellings("Лакост")
    (True, True)
    """
    forms = list(transliterations(key))
    for sound, spelt in _RESPELT:
        forms += [form.replace(sound, spelt) for form in forms if sound in form]
    forms += [f"{form}e" for form in forms if form[-1:] not in _VOWELS]
    return tuple(form for form in dict.fromkeys(forms) if len(form) >= _SHORTEST)


def _said(char: str, heard: list[str]) -> str | None:
    if char.isascii():
        return char
    if ord(char) in _HANGUL:
        rest, last = divmod(ord(char) - _HANGUL.start, 28)
        first, middle = divmod(rest, 21)
        return f"{_INITIAL[first]}{_MEDIAL[middle]}{_FINAL[last]}"
    kana = chr(ord(char) + 0x60) if ord(char) in _HIRAGANA else char
    if kana in _SMALL:
        if heard:
            heard[-1] = heard[-1][:-1]
        soft = bool(heard) and heard[-1].endswith(("h", "j"))  # "sha", not "shya"
        return _SMALL[kana].removeprefix("y") if soft else _SMALL[kana]
    if kana in "ッー・":
        return ""
    if "ア" <= kana <= "ヴ" and kana not in _OBSOLETE:
        sound = unicodedata.name(kana).removeprefix("KATAKANA LETTER ")
        return _HEPBURN.get(sound, sound.lower())
    letter = _plain(char)
    return _CYRILLIC.get(letter) or _GREEK.get(letter)


def _plain(char: str) -> str:
    """Return a Greek letter without its accent; Cyrillic "й" is a letter of its own."""
    if char in _CYRILLIC:
        return char
    return unicodedata.normalize("NFD", char)[0]
