"""Which key a secret opens, by the hash of the secret."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress

from cs.domain.codec import event_of, shapes
from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.domain.messages import Event
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.mapper import DataKeys, recorded
from cs.eventlog.port import EventLog, Where
from cs.projections.follower import Follower
from cs.projections.usage import USAGE
from cs.projections.views import Views

#: Events by which the views may be behind the log while an answer is made of both; further
#: behind, it waits.
AHEAD = 5_000
#: How long views that are further behind are waited for.
PATIENCE_S = 4.0


class KeySecrets:
    """Looks secrets up in the views, and in what the log has beyond them."""

    def __init__(
        self, events: EventLog, views: Views, follower: Follower, keys: DataKeys
    ) -> None:
        self._events = events
        self._views = views
        self._follower = follower
        self._keys = keys

    async def shown(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, as the views show it.

        They are not waited for: one that has an id may have been shut since they last moved,
        and one without may open a key by now.

        Raises:
            LogUnavailable: The views are away.
        """
        return await self._found(secret_hashes, 0)

    async def opened_by(self, secret_hashes: AbstractSet[str]) -> Mapping[str, str]:
        """Return the id of the key that each of *secret_hashes* opens, of those that open one.

        Those without an id opened nothing when this was called, as far as anybody can tell.
        One that has an id may have been shut since, or its key's stream is damaged: code that
        reads that learns it.

        Raises:
            LogUnavailable: Log or views are away, or the views too far behind.
        """
        head = await self._events.head()
        await reached(self._follower, head - AHEAD)
        since = await self._views.position()
        newest = await self._newest_secrets(since, head)
        found = await self._found(secret_hashes, since)
        found = {s: k for s, k in found.items() if newest.get(k, s) == s}
        return found | {s: k for k, s in newest.items() if s is not None and s in secret_hashes}

    async def _found(self, secret_hashes: AbstractSet[str], since: int) -> dict[str, str]:
        found = await self._views.ids_tagged(USAGE, secret_hashes, since)
        return {secret: key_id for key_id, secret in found}

    async def _newest_secrets(self, after: int, upto: int) -> Mapping[str, str | None]:
        """Return the secret of each key that has changed after *after*; ``None``: revoked.

        Raises:
            NewerEvent: The log has an event that only a newer version reads.
        """
        self._follower.gate.check()
        if upto - after > AHEAD:
            raise LogUnavailable(f"the views are {upto - after} events behind the log")
        newest: dict[str, str | None] = {}
        where = Where(topics=topics_of(KeyIssued, KeyRotated, KeyRevoked))
        for stored in await self._events.select(where, after, upto):
            with suppress(DamagedEvent):  # a read of the key reports that
                for each in await recorded(self._keys, [stored]):
                    match each.event:
                        case KeyIssued(secret_hash=secret) | KeyRotated(secret_hash=secret):
                            newest[each.stream.removeprefix("key-")] = secret
                        case _:
                            newest[each.stream.removeprefix("key-")] = None
        return newest


def topics_of(*events: type[Event]) -> frozenset[str]:
    """Return the topics that *events* are read of, in all versions."""
    return frozenset(topic for topic in shapes() if event_of(topic) in events)


async def reached(follower: Follower, position: int) -> None:
    """Wait for the views to reflect *position*.

    Raises:
        LogUnavailable: It takes longer than `PATIENCE_S`.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            await follower.reached(position)
    except TimeoutError:
        behind = position - follower.position
        raise LogUnavailable(f"the views are {behind} events behind the log") from None
