"""Which mailboxes that a stage found deliverable are refuted: mail to them came back lately."""

from collections.abc import Iterable
from functools import partial

from cs.domain.contact import CheckedPerson
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import Fingerprinter, email_print
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.streams import Streams
from cs.runtime.clock import Clock


class RefutedMailboxes:
    """Asks the streams of mail domains, which know mailboxes by keyed hashes of *keys*."""

    def __init__(self, streams: Streams, keys: Fingerprinter, clock: Clock) -> None:
        self._streams = streams
        self._keys = keys
        self._clock = clock

    async def among(self, checked: Iterable[CheckedPerson]) -> frozenset[str]:
        """Return the addresses in *checked* that no check of now can prove."""
        refuted: set[str] = set()
        for each in checked:
            if each.address is not None and await self._is_refuted(each.address):
                refuted.add(each.address)
        return frozenset(refuted)

    async def _is_refuted(self, address: str) -> bool:
        domain = address.rpartition("@")[2]
        try:
            folded = await retry_while_unavailable(partial(self._streams.mail_domain, domain))
        except DamagedEvent:
            return False  # it is set aside, as what is known of its servers
        if not folded.state.bounced:
            return False
        return bool(folded.state.refutes(email_print(self._keys, address), self._clock.now()))
