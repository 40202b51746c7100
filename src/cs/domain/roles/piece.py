"""A piece of a headline and its labels: the kinds of terms in it, and what they make of it."""

import re
from functools import cached_property, lru_cache

from cs.domain.roles.lexicon import LEVELS, Hit, Token, covered, hits_in, lexicon, tokens

_FAMILIES = frozenset({"influencer", "social", "partnerships", "brand", "community"})
SCOPE = _FAMILIES | {"trade", "place", "little"}
_PLACE = frozenset({"place", "little"})

_DOMAIN = re.compile(r"^the\s|\.(?:com|io|co|ai|net|org|de|fr|tv|app|me)$", re.IGNORECASE)
_NAME = re.compile(
    r"^[^\W\d_a-zà-ÿα-ώа-яёіїєґ]|^\d|^[a-z]+[A-Z]|^[a-z]\.|^@|\.[a-z]{2,4}$|^[dl]['’][A-Z]"
)


class Piece:
    """A text with its tokens and the terms in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = tokens(text)
        self.hits: list[Hit] = hits_in(text, self.tokens)
        self.kinds = frozenset(hit.kind for hit in self.hits)

    def has(self, *kinds: str) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def first(self, *kinds: str) -> Hit | None:
        """Return the first term of *kinds*; the longest of those that begin there."""
        found = (hit for hit in self.hits if hit.kind in kinds)
        return min(found, key=lambda hit: (hit.start, -hit.end), default=None)

    def left(self, kinds: frozenset[str]) -> list[str]:
        """Return the words that no term of *kinds* covers."""
        inside = covered(self.hits, kinds)
        left = (t for t in self.tokens if any(n not in inside for n in range(t.start, t.end)))
        return [token.plain for token in left if not token.plain.isdigit()]

    @cached_property
    def flat(self) -> str:
        return " ".join(token.plain for token in self.tokens)

    @cached_property
    def unknown_words(self) -> list[str]:
        """The words that are in no table, nor in any term."""
        left = self.left(self.kinds)
        return [word for word in left if len(word) > 1 and not lexicon().knows(word)]

    @cached_property
    def has_level(self) -> bool:
        return self.has(*LEVELS)

    def ends_in(self, *kinds: str) -> bool:
        end = self.tokens[-1].end if self.tokens else 0
        return any(hit.end == end and hit.kind in kinds for hit in self.hits)

    def begins_with(self, kind: str) -> Hit | None:
        """Return the term of *kind* that stands first."""
        first = self.first(kind)
        return first if first and first.start == self.tokens[0].start else None

    @cached_property
    def is_scope(self) -> bool:
        """Whether it is all trades and places: "Social & Content", "EMEA"."""
        return not self.left(SCOPE)

    @cached_property
    def is_place(self) -> bool:
        return bool(self.tokens) and not self.left(_PLACE) and self.has("place")

    @cached_property
    def is_address(self) -> bool:
        """Whether it is a place in another: "Portland, Oregon", "Bath, England"."""
        first, _, last = self.text.rpartition(",")
        return piece(last).is_place or (piece(first).is_place and len(last.strip()) <= 3)

    @cached_property
    def is_firm(self) -> bool:
        """Whether it carries a mark of a firm: "The Social Agency", "Influencer.com"."""
        return (
            _DOMAIN.search(self.text.strip()) is not None
            or self.ends_in("firm")
            or any(
                hit.kind == "firm" and not self.text[hit.start].isascii() for hit in self.hits
            )
        )

    @cached_property
    def is_name(self) -> bool:
        """Whether every word that matters is written like a name."""
        words = self.text.replace("-", " ").split()
        weighty = [word for word in words if word.casefold() not in lexicon().small]
        return 0 < len(words) <= 6 and bool(weighty) and all(map(_NAME.search, weighty))

    @cached_property
    def is_offer(self) -> bool:
        """Whether it is what a firm sells, or roles of several people."""
        is_product = not self.is_name or self.has("social", "influencer")
        return self.has("several") or (self.has("product") and is_product)


def flat(text: str) -> str:
    """Return the folded words of *text* with one space between, typos put right.

    >>> flat("Influencer-Marketing Mananger")
    'influencer marketing manager'
    """
    return " ".join(token.plain for token in tokens(text))


@lru_cache(1_024)
def piece(text: str) -> Piece:
    """Return *text* with its labels."""
    return Piece(text)
