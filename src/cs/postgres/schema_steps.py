"""The numbered steps of the schema: files ``migrations/<store>/NNNN_name.sql``."""

import re
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Literal

import msgspec

Store = Literal["service", "keys", "stages"]
#: Every store: what the service keeps, the key store, and the stages' own.
STORES: tuple[Store, ...] = ("service", "keys", "stages")

#: A step that is one statement, which builds an index beside writers.
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON [^;]+;")
_COMMENT = re.compile(r"--[^\n]*")
_FORMERLY = re.compile(r"^-- Formerly ([0-9a-f]{64})$", re.MULTILINE)


class Migration(msgspec.Struct, frozen=True):
    number: int  # from 1, without gaps
    name: str
    sql: str

    @property
    def digest(self) -> str:
        return sha256(self.sql.encode()).hexdigest()

    @property
    def digests(self) -> Sequence[str]:
        """Digests of this step, and of what it was before: that came to the same."""
        return (self.digest, *_FORMERLY.findall(self.sql))

    @property
    def index(self) -> str | None:
        """The index that this step builds outside a transaction; ``None``: it does no such."""
        found = _INDEX.fullmatch(_COMMENT.sub("", self.sql).strip())
        return found[1] if found else None


def migrations(store: Store) -> Sequence[Migration]:
    """Return the steps of *store* in order."""
    folder = files("cs.postgres") / "migrations" / store
    found = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return [
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text()) for entry in found
    ]
