"""Text of anywhere on a terminal, in JSON and in CSV: shown, never obeyed.

All that commands print goes through here: `cs.cli.output` has the ways out.
"""

import re
from typing import Any

import msgspec

from cs.domain.names.plain_text import written_out

#: A cell that begins so is a formula to a spreadsheet, full-width forms included.
_FORMULA = "=+@＝＋－＠-"
#: Where a cell begins: its own beginning, and after a semicolon, where a spreadsheet of many
#: a country parts cells.
_CELL_BEGINS = re.compile(rf"(\A|;)(?=[\s\"']*[{_FORMULA}])")
#: In JSON they stand in strings only, so they can be escaped wherever they are.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def harmless(text: str) -> str:
    r"""Return *text* on one line, its control characters written out.

    >>> print(harmless("Acme\x1b[2J\tCo"))
    Acme\x1b[2J Co
    """
    return written_out(text)


def harmless_lines(text: str) -> str:
    """Return *text*, lines of our own about what came from anywhere, made harmless."""
    return written_out(text, keep="\n")


def all_harmless(value: Any) -> Any:
    """Return *value*, of JSON's types, with each text in it harmless; keys stay."""
    match value:
        case str():
            return harmless(value)
        case dict():
            return {key: all_harmless(inner) for key, inner in value.items()}
        case list() | tuple():
            return [all_harmless(inner) for inner in value]
        case _:
            return value


def json_line(value: Any) -> bytes:
    r"""Return *value* as one line of JSON that a terminal shows and programs read as ever.

    >>> json_line({"brand": "Acme\u202e"})
    b'{"brand":"Acme\\u202e"}\n'
    """
    text = msgspec.json.encode(value).decode()
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def cell(text: str) -> str:
    """Return *text* on one line, with an apostrophe before what would be a formula.

    >>> cell("=1+1"), cell(" @x"), cell("Acme - Co"), cell("Acme; =1+1")
    ("'=1+1", "' @x", 'Acme - Co', "Acme;' =1+1")
    """
    return _CELL_BEGINS.sub(r"\1'", harmless(text))
