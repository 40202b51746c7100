"""Work that nobody speaks of any more is issued again: its message, or its answer, is lost."""

from datetime import timedelta

from structlog import get_logger

from cs.domain.brand.events import ReissueSilent
from cs.eventlog.damage import SetAside
from cs.eventlog.port import DamagedEvent
from cs.pipeline.heartbeats import SILENCE_S, Signs
from cs.pipeline.in_flight import Hand, Hands
from cs.pipeline.lookups import Lookups
from cs.runtime.clock import Clock

log = get_logger()

SILENCE_CHECK_S = 1.0


class Silence:
    """Watches *hands* for ever; cancel `watch` to stop.

    Args:
        set_aside: Is told of lookups that cannot be read.
        real: Measures silence: real time, also where the service's clock may be moved,
            since no work gets done by that.
        after_s: Issue work again that was not heard of for so long.
        check_s: Look for such work this often.
    """

    def __init__(
        self,
        lookups: Lookups,
        hands: Hands,
        signs: Signs,
        clock: Clock,
        real: Clock,
        *,
        set_aside: SetAside,
        after_s: float = SILENCE_S,
        check_s: float = SILENCE_CHECK_S,
    ) -> None:
        self._lookups = lookups
        self._hands = hands
        self._signs = signs
        self._clock = clock
        self._real = real
        self._set_aside = set_aside
        self._after_s = after_s
        self._check = timedelta(seconds=check_s)

    async def watch(self) -> None:
        while True:
            await self._real.sleep_until(self._real.now() + self._check)
            for hand in self._hands.silent(self._after_s):
                try:
                    await self._ask_after(hand)
                except DamagedEvent as damaged:
                    self._set_aside.note(damaged)

    async def _ask_after(self, hand: Hand) -> None:
        """Issue *hand*'s work again unless somebody heard of it who is not we."""
        ago_s = await self._signs.silent_for(hand.lookup, hand.stage, hand.item, hand.attempt)
        if ago_s is not None and ago_s <= self._after_s:
            self._hands.heard(hand, ago_s)
            return
        log.warning("stage_silent", lookup=hand.lookup, stage=hand.stage, attempt=hand.attempt)
        again = ReissueSilent(
            lookup=hand.lookup,
            stage=hand.stage,
            item=hand.item,
            attempt=hand.attempt,
            known=await self._lookups.known(hand.lookup),
            at=self._clock.now(),
        )
        await self._lookups.change(again)
