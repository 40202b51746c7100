"""Text of the outside world made plain: one spelling of what people type in many.

`plain` keeps the words as written, for showing; `folded` is for comparing and never shown;
`escaped_controls` is for terminals.
"""

import html
import re
import unicodedata

#: Characters read of one text.  The network caps a headline at 220; a search snippet
#: is some 300.  What comes after says nothing and would only cost time.
LIMIT = 1_000

#: What stands for a pictograph: pictographs part a headline as bars do.
BREAK = " • "

_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_ACCENT = re.compile("[\u0300-\u036f]")

#: Letters in black squares and circles, which NFKC leaves as they are.
_BOXED = {first + n: ord("A") + n for first in (0x1F150, 0x1F170) for n in range(26)}


#: What a terminal takes for a command, or for a direction of what follows: C0, C1 and DEL;
#: what turns directions (UAX 9); line and paragraph separators; halves of a character.
CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]"
)


def escaped_controls(text: str, *, keep: str = "") -> str:
    r"""Return *text* with its control characters written out, white space as a space.

    A terminal takes them for commands, which rewrite what was printed before, set the
    title or the clipboard, or turn the direction of what follows.

    Args:
        text: Of anywhere.
        keep: Characters that stay, such as a line end between lines of our own.

    >>> print(escaped_controls("Acme\x1b[2J\tCo"))
    Acme\x1b[2J Co
    """

    def spelt(found: re.Match[str]) -> str:
        character = found[0]
        if character in keep:
            return character
        if character in "\t\n\v\f\r":
            return " "
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return CONTROLS.sub(spelt, text)


def plain(text: str) -> str:
    """Return *text* with entities decoded, in NFKC, on one line, without pictographs.

    At most `LIMIT` characters are read.  Line ends and pictographs become ``•``;
    invisible characters go.

    >>> plain("𝗛𝗲𝗮𝗱 of Social &amp; Brand 🚀 Acme")
    'Head of Social & Brand • Acme'
    """
    text = text[: 4 * LIMIT]
    if text.isascii() and text.isprintable() and "&" not in text:
        return " ".join(text[:LIMIT].split())  # the same, at a tenth of the time
    text = html.unescape(html.unescape(text))
    text = unicodedata.normalize("NFKC", text[:LIMIT].translate(_BOXED))[:LIMIT]
    return " ".join("".join(map(_visible, text)).split())


def _visible(character: str) -> str:
    if character in "\n\r\u2028\u2029":
        return BREAK
    if character in "®©":
        return ""
    match unicodedata.category(character):
        case "So":
            return BREAK
        case "Cc" | "Zs" | "Zl" | "Zp":
            return " "
        case "Cf" | "Cs" | "Co" | "Cn" | "Me":
            return ""
        case "Mn" if "\ufe00" <= character <= "\ufe0f":  # emoji style
            return ""
        case "Sk" if ord(character) > 0xFFFF:  # skin tone
            return ""
        case _:
            return character


def folded(text: str) -> str:
    """Return *text* without case and Latin accents, for comparing.

    Marks of other scripts stay: a kana without its voicing mark is another kana.

    >>> folded("Społeczność ÎLE ブランド")
    'spolecznosc ile ブランド'
    """
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold()).translate(_LETTERS)
    return unicodedata.normalize("NFC", _ACCENT.sub("", apart))
