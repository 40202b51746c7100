"""By which fingerprints people of the operator's own directory are erased."""

from msgspec.structs import asdict

from cs.directory.person import DirectoryPerson
from cs.eventlog.fingerprints import fingerprints
from cs.keystore.port import KeyStore


class DirectoryPrints:
    """Those of the key store, as for people who are found by a search.

    Args:
        keys: With the secret that they are made with, and who is suppressed.
    """

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys

    def of(self, person: DirectoryPerson) -> tuple[str, ...]:
        """Return those of *person*, the one that says who it is first."""
        every = fingerprints(self._keys, {**asdict(person), "linkedin_url": person.profile})
        found = tuple(every)
        # What says who somebody is comes last there, where they have a profile.
        return found if person.profile is None else tuple(dict.fromkeys(found[::-1]))

    async def suppressed(self, prints: frozenset[str]) -> frozenset[str]:
        """Return those of *prints* whose people asked to be forgotten."""
        return await self._keys.suppressed(prints)
