"""Text of any server on a terminal: shown, never obeyed.

A terminal takes control characters for commands, which rewrite what was printed before,
set the title or the clipboard, or turn the direction of what follows.
"""

import re
from typing import Any

#: C0, C1 and DEL; what turns directions (UAX 9); line and paragraph separators.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""Return *text* on one line, its control characters written out.

    >>> print(harmless("Acme\x1b[2J\tCo"))
    Acme\x1b[2J Co
    """
    return _CONTROLS.sub(_written, text)


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


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0].isspace() and code < 0x1C:
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
