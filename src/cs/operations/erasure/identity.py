"""Which fingerprints a person has, by their own stored records."""

from collections.abc import Iterable, Mapping
from typing import Any

from cs.domain.codec import to_plain
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.fingerprints import identities_of
from cs.eventlog.sealing import personal_values
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure.brand_streams import by_stream


class PersonPrints:
    def __init__(self, streams: Streams, keys: KeyStore) -> None:
        self._streams = streams
        self._keys = keys

    async def known_by(
        self, person: str, prints: Iterable[str], names: frozenset[str]
    ) -> tuple[str, ...]:
        """Return all fingerprints of the person with the fingerprint *person*.

        A record of another profile that shares only an address or a name is a
        namesake's: nothing is learned from it.

        Args:
            person: A fingerprint.
            prints: Others that they are known by, *person* among them.
            names: Of data keys that are this person's, wherever they are indexed.
        """
        known = set(prints)
        theirs = names | await self._keys.matching([person])
        left, seen = names | await self._keys.matching(known), set[str]()
        while left:
            for name, values in (await self._values(left)).items():
                identities = [
                    each for value in values for each in identities_of(self._keys, value)
                ]
                profiles = {print_ for kind, print_ in identities if kind == "profile"}
                if name in theirs or profiles <= known:
                    known.update(print_ for _, print_ in identities)
            seen |= left
            left = await self._keys.matching(known) - seen
        return tuple(sorted(known))

    async def _values(self, names: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
        """Return the personal values sealed under each of *names*, opened."""
        values: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
        for stream in by_stream(values):
            try:
                events = await self._streams.log.read(stream)
            except DamagedEvent as damaged:  # nothing is learned from it
                self._streams.set_aside.note(damaged)
                continue
            for recorded in events:
                plain = to_plain(recorded.event)
                for value in personal_values(plain):
                    name = f"{plain.get('lookup')}#{value['person']}"
                    if name in values:
                        values[name].append(value)
        return values
