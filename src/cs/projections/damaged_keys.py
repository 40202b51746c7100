"""Which key a secret belongs to, among keys whose streams the views pass over.

Their rows lack what stands in the damaged event and behind it, and so perhaps the secret that
opens the key now.  Its owner is not answered that it is wrong as long as anything stored says
whose it is: what can be read behind the damage, and the damaged bytes themselves.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice

from cs.domain.key import KeyIssued, KeyRotated
from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.eventlog.port import EventLog, RecordedEvent
from cs.projections.set_aside import AsideRow

#: Damaged keys that are looked through; with more than these all of the log is in doubt.
KEYS = 100
#: Events of each that are read, from the damaged one on.
EVENTS = 1_000

#: A SHA-256 as it is stored.
_HASH = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class DamagedKeys:
    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._secrets: dict[AsideRow, frozenset[str]] = {}  # what was read of each

    async def opened_by(
        self, secret_hashes: AbstractSet[str], set_aside: Iterable[AsideRow]
    ) -> Mapping[str, str]:
        """Return the id of the damaged key that each of *secret_hashes* is stored with.

        It may be an older secret of that key: which one opens it, its stream does not say.

        Raises:
            LogUnavailable: The log cannot be read now.
        """
        rows = list(islice((row for row in set_aside if row.stream.startswith("key-")), KEYS))
        self._secrets = {row: self._secrets[row] for row in rows if row in self._secrets}
        found = {}
        for row in rows:
            if row not in self._secrets:
                self._secrets[row] = await self._stored_with(row)
            for secret_hash in secret_hashes & self._secrets[row]:
                found[secret_hash] = row.stream.removeprefix("key-")
        return found

    async def _stored_with(self, row: AsideRow) -> frozenset[str]:
        """Return the hashes of secrets in the stream of *row*, from its damaged event on."""
        found: set[str] = set()
        after, end = row.version - 1, row.version + EVENTS
        limit = EVENTS
        while after < end:
            try:
                page = await self._events.read(row.stream, after, limit)
            except NewerEvent:
                break
            except DamagedEvent as damaged:
                limit = damaged.version - after - 1
                if limit <= 0:
                    found |= await self._in_bytes(damaged.position)
                    after, limit = damaged.version, EVENTS
                continue
            found |= _secrets_in(page)
            if len(page) < limit:
                break
            after, limit = page[-1].version, EVENTS
        return frozenset(found)

    async def _in_bytes(self, position: int) -> set[str]:
        """Return what looks like a hash in the stored bytes of the event at *position*."""
        try:
            rows = await self._events.stored(position - 1, 1) if position else ()
        except DamagedEvent:
            return set()
        return {match.decode() for row in rows for match in _HASH.findall(row.state)}


def _secrets_in(page: Iterable[RecordedEvent]) -> set[str]:
    events = (recorded.event for recorded in page)
    return {e.secret_hash for e in events if isinstance(e, KeyIssued | KeyRotated)}
