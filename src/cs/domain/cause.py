"""Why a plug-in could not answer, in words that may be told: short, one line, no mailbox.

The log keeps such words for weeks and under the operator's eyes; events keep them for ever,
in clear, where no erasure reaches.  So events leave out more (`stored`).
"""

import re
from collections.abc import Mapping

#: Characters kept of a cause, and causes kept of one run.
CAUSE = 300
CAUSES = 20

# Tried only where a word begins, or a long one would be read once for each of its letters.
_MAILBOX = re.compile(r"(?<![^\s@'\"<>=&?])[^\s@'\"<>=&?]+(?:@|%40)[^\s@'\"<>&]+")
#: Controls, what turns directions (UAX 9), line separators, halves of a character.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]+"
)
_PATH = re.compile(r"(https?://[^\s/?#'\"]+)[/?#][^\s'\"]*", re.IGNORECASE)
#: An apostrophe within a word begins nothing; what was cut is quoted to its end.
_QUOTED = re.compile(r"""(?<!\w)[bru]{0,2}(?:'[^']*(?:'|$)|"[^"]*(?:"|$))""", re.IGNORECASE)


def one_line(text: str) -> str:
    r"""Return *text* as it may be logged: one line of at most `CAUSE` characters, no mailbox.

    >>> one_line("550 jane@acme.test:\r\n unknown")
    '550 [mailbox]  unknown'
    """
    return _CONTROL.sub(" ", _MAILBOX.sub("[mailbox]", text))[:CAUSE]


def stored(causes: Mapping[str, str]) -> dict[str, str]:
    """Return *causes*, by source, as events hold them: at most `CAUSES`.

    Without what is quoted and behind the host of an address on the web: there an error
    shows what it was given to read, which may be a person's name or profile.

    >>> stored({"staff": "KeyError: 'Jane Doe'", "web": "https://x.test/in/jane answers 404"})
    {'staff': 'KeyError: […]', 'web': 'https://x.test/… answers 404'}
    """
    return {
        name: one_line(_QUOTED.sub("[…]", _PATH.sub(r"\1/…", why)))
        for name, why in list(causes.items())[:CAUSES]
    }
