"""Which master key wraps new keys, as the key store said when it was last asked."""

from collections.abc import Iterable

from cs.keystore.wrapping import MasterKeys, Wrapping, secret_name
from cs.postgres.pool import PooledConnection

_WHERE = "the key store's database"


class MasterInUse:
    """What wraps keys and secrets, and how.

    Statements that store a wrap name the `proof` and how it was made, and store nothing if the
    store says something else by then: it is read anew and wrapped again.
    """

    def __init__(self, masters: MasterKeys) -> None:
        self.masters = masters
        self.wrapping = masters.first
        self.named = False

    @property
    def proof(self) -> bytes:
        return self.wrapping.proof

    async def read(self, connection: PooledConnection) -> None:
        (row,) = await connection.fetch("SELECT proof, named FROM master")
        self.wrapping = self.masters.in_use(_WHERE, row["proof"])
        self.named = row["named"]

    def check_older(self, proofs: Iterable[bytes]) -> None:
        self.masters.check_older(_WHERE, proofs)

    def changed(self, new: Wrapping) -> None:
        """Note that *new* is in use, by name."""
        self.wrapping, self.named = new, True

    def wrapped(self, name: str, key: bytes) -> bytes:
        return self.wrapping.wrapped(name, key, named=self.named)

    def unwrapped(self, name: str, wrapped: bytes) -> bytes:
        return self.masters.unwrapped(name, wrapped)

    async def keep_secret(self, connection: PooledConnection, name: str, secret: bytes) -> None:
        """Store *secret* unless there is one called *name*."""
        wrapped = self.wrapped(secret_name(name), secret)
        await connection.execute(_KEEP_SECRET, name, wrapped, self.proof, self.named)


#: Nothing is wrapped with a master key that is in use no more, or in a way that is.
_KEEP_SECRET = """
INSERT INTO secret SELECT $1, $2::bytea
WHERE EXISTS (SELECT FROM master WHERE proof = $3 AND named = $4)
ON CONFLICT DO NOTHING
"""  # noqa: S105
