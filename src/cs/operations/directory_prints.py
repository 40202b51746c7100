"""By which fingerprints people of the operator's own directory are erased."""

from msgspec.structs import asdict

from cs.directory.person import DirectoryPerson
from cs.eventlog.fingerprints import email_print, fingerprints, profile_print
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
        if person.profile is not None:
            main = profile_print(self._keys, person.profile)
        else:
            main = email_print(self._keys, person.email or "")
        others = fingerprints(self._keys, {**asdict(person), "linkedin_url": person.profile})
        return tuple(dict.fromkeys([main, *others]))

    async def suppressed(self, prints: frozenset[str]) -> frozenset[str]:
        """Return those of *prints* whose people asked to be forgotten."""
        return await self._keys.suppressed(prints)
