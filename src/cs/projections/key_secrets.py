"""Which key a secret opens, by the hash of the secret."""

from collections.abc import AsyncGenerator, Mapping
from collections.abc import Set as AbstractSet

from cs.projections.current_rows import CurrentRows
from cs.projections.usage import USAGE
from cs.projections.views import Views

#: Keys read at once when their secrets are gone through: some 0.5 MB.
SECRETS_PAGE = 5_000


class KeySecrets:
    """Looks secrets up in the views, and in what the log has beyond them."""

    def __init__(self, views: Views, rows: CurrentRows) -> None:
        self._views = views
        self._rows = rows

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
        One that has an id may have been shut since, or its key's stream is damaged: whoever
        reads that learns it.

        Raises:
            LogUnavailable: Log or views are away, or the views too far behind.
        """
        basis = await self._rows.basis()
        found = await self._found(secret_hashes, basis.since)
        newer = {
            row_id: USAGE.tag(USAGE.decode(data))
            for (table, row_id), data in basis.newer.items()
            if table == USAGE.name
        }
        found = {s: k for s, k in found.items() if k not in newer or newer[k] == s}
        return found | {s: k for k, s in newer.items() if s is not None and s in secret_hashes}

    async def pages(self) -> AsyncGenerator[list[tuple[str, str]], None]:
        """Yield pages of (key id, hash of its secret), by id, of all keys that can be used."""
        after = ""
        while page := await self._views.tags(USAGE, after, SECRETS_PAGE):
            yield page
            after, _ = page[-1]

    async def _found(self, secret_hashes: AbstractSet[str], since: int) -> dict[str, str]:
        found = await self._views.ids_tagged(USAGE, secret_hashes, since)
        return {secret: key_id for key_id, secret in found}
