"""Patterns by which companies make addresses of names, and how common each is.

Candidates made here are guesses: they are only ever asked about, never shown.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from cs.domain.mail.syntax import is_mailbox
from cs.domain.names.person_name import ascii_forms

Address = str
Pattern = str

#: Share of people whose address follows the pattern, commonest first.  Measured
#: 2026-11-21 on 1,902 people with a recognisable pattern, from public author lines of 83
#: open-source repositories (free-mail, community and university domains removed).  An
#: engineering-heavy sample: priors, not truths.
FREQUENCIES: dict[Pattern, float] = {
    "first.last": 0.361,
    "flast": 0.232,
    "first": 0.229,
    "last": 0.038,
    "firstl": 0.025,
    "firstlast": 0.023,
    "last.first": 0.021,
    "fl": 0.015,
    "f.last": 0.012,
    "first_last": 0.011,
    "lastfirst": 0.009,
    "lastf": 0.007,
}
#: Template of each; ``{f}`` and ``{l}`` are the initials.
TEMPLATES: dict[Pattern, str] = {
    pattern: re.sub("first|last|f|l", r"{\g<0>}", pattern) for pattern in FREQUENCIES
}
#: Spellings of one name that are tried, likeliest first ("mueller", "muller").
_SPELLINGS = 3
#: Letters that a part of a name must have, or it may be in a local part by chance.
_LEAST_LETTERS = 4
#: A second spelling is taken to be half as likely as the first, and so on.
_FADING = 0.5


def candidates(
    first: str | None,
    last: str | None,
    mail_domain: str,
    *,
    pattern: Pattern | None = None,
    named: tuple[Address, ...] = (),
    limit: int = 6,
) -> tuple[tuple[Address, Pattern | None], ...]:
    """Return the addresses a person may have at *mail_domain*, likeliest first.

    Args:
        first: First name as written; ``None`` or empty if unknown.
        last: Last name, likewise.
        mail_domain: Lower-case, ASCII.
        pattern: The domain's known pattern, if any: its spellings come before all others.
        named: Addresses that a source named; those at another domain are left out, and
            those that show nothing of the name (``press@``: a page about a person names
            other mailboxes too).  The others come first of all, in their order.
        limit: At most so many.

    Returns:
        Distinct lower-case addresses, each with the pattern it follows; ``None`` for a
        named one that follows none.

    Source:
        `FREQUENCIES`.
    """
    spelt = (*_spellings(first), *_spellings(last))
    parts = [part for part in spelt if len(part) >= _LEAST_LETTERS]
    found: dict[Address, Pattern | None] = {}
    for address in named:
        lower = address.strip().lower()
        local, _, domain = lower.rpartition("@")
        if domain == mail_domain and is_mailbox(lower):
            by = pattern_of(lower, first, last)
            if by is not None or any(part in local for part in parts):
                found.setdefault(lower, by)
    made = sorted(
        _made(first, last),
        key=lambda guess: (guess[1] != pattern, -guess[2]),  # stable: ties keep their order
    )
    for local, made_by, _ in made:
        address = f"{local}@{mail_domain}"
        if is_mailbox(address):
            found.setdefault(address, made_by)
    return tuple(found.items())[: max(limit, 0)]


def named_pattern(
    people: Iterable[tuple[str | None, str | None, Sequence[Address]]], mail_domain: str
) -> Pattern | None:
    """Return the pattern that most of the addresses follow that sources named of *people*.

    Named addresses are candidates, so this is where guessing begins, and no proof.

    Args:
        people: First name, last name and the addresses that were named of each.
        mail_domain: Others are left out.

    Returns:
        The commonest; of several the one that companies use most.  ``None`` without any.

    >>> zoe, al = ("Zoë", "Ruiz", ["ruiz.zoe@a.test"]), ("Al", "Fry", ["fry.al@a.test"])
    >>> people = [zoe, al, ("Jo", "Ek", ["jo@a.test"])]
    >>> named_pattern(people, "a.test"), named_pattern(people, "b.test")
    ('last.first', None)
    """
    followed = Counter(
        pattern
        for first, last, addresses in people
        for address in addresses
        if address.lower().rpartition("@")[2] == mail_domain
        if (pattern := pattern_of(address, first, last)) is not None
    )
    return max(followed, key=lambda by: (followed[by], FREQUENCIES[by]), default=None)


def pattern_of(address: Address, first: str | None, last: str | None) -> Pattern | None:
    """Return the pattern by which *address* is made of the name; ``None`` if by none.

    Of several (``li@`` for Li Li) the commonest.
    """
    local = address.rpartition("@")[0].lower()
    return next((by for made, by, _ in _made(first, last) if made == local), None)


def _made(first: str | None, last: str | None) -> Iterator[tuple[str, Pattern, float]]:
    """Yield local parts with pattern and weight, pattern by pattern."""
    firsts, lasts = _spellings(first), _spellings(last)
    for pattern, share in FREQUENCIES.items():
        uses_first, uses_last = "{f" in TEMPLATES[pattern], "{l" in TEMPLATES[pattern]
        for (i, first_), (j, last_) in product(enumerate(firsts), enumerate(lasts)):
            if (uses_first and not first_) or (uses_last and not last_):
                continue
            fade = _FADING ** (i * uses_first + j * uses_last)
            yield local_part(pattern, first_, last_), pattern, share * fade


def local_part(pattern: Pattern, first: str, last: str) -> str:
    """Return what *pattern* makes of a name that is spelt in plain lower-case letters.

    >>> local_part("flast", "zoe", "ruiz")
    'zruiz'
    """
    return TEMPLATES[pattern].format(first=first, last=last, f=first[:1], l=last[:1])


def _spellings(name: str | None) -> tuple[str, ...]:
    return tuple(ascii_forms(name or ""))[:_SPELLINGS] or ("",)
