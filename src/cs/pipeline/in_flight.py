"""What stages have in hand, as the log tells it, and since when each was not heard of."""

from collections.abc import Callable
from dataclasses import dataclass

from cs.domain.stages.work import StageName


@dataclass
class Hand:
    lookup: str
    stage: StageName
    item: str
    attempt: int
    heard_at: float  # monotonic seconds


#: (lookup, stage, item, attempt)
Held = tuple[str, StageName, str, int]


class Hands:
    """The newest attempt of every open piece of work."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._hands: dict[str, dict[tuple[StageName, str], Hand]] = {}

    def all(self) -> frozenset[Held]:
        return frozenset(
            (hand.lookup, hand.stage, hand.item, hand.attempt)
            for hands in self._hands.values()
            for hand in hands.values()
        )

    def took(
        self, lookup: str, stage: StageName, item: str, attempt: int, ago_s: float = 0.0
    ) -> None:
        """Note that work was issued, *ago_s* seconds ago."""
        hand = Hand(lookup, stage, item, attempt, self._monotonic() - max(0.0, ago_s))
        self._hands.setdefault(lookup, {})[stage, item] = hand

    def gave(self, lookup: str, stage: StageName, item: str = "") -> None:
        """Note that work was answered or put off."""
        hands = self._hands.get(lookup)
        if hands is not None:
            hands.pop((stage, item), None)
            if not hands:
                del self._hands[lookup]

    def gave_all(self, lookup: str) -> None:
        self._hands.pop(lookup, None)

    def silent(self, for_s: float) -> list[Hand]:
        """Return what seems silent for *for_s* seconds, each once in that time."""
        now = self._monotonic()
        found = [
            hand
            for hands in self._hands.values()
            for hand in hands.values()
            if now - hand.heard_at > for_s
        ]
        for hand in found:
            hand.heard_at = now
        return found

    def heard(self, hand: Hand, ago_s: float) -> None:
        """Note that *hand* was heard of *ago_s* seconds ago after all."""
        hand.heard_at = self._monotonic() - ago_s
