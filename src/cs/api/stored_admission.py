"""What an admitted search has come to: stored, with the key as it is after it."""

import msgspec

from cs.domain.admission import Admission
from cs.domain.key import Key


class StoredAdmission(msgspec.Struct, frozen=True):
    """An admission that is stored, and the key right after it.

    Attributes:
        body: What a reused lookup found, as it is sent, if it was read.
    """

    admission: Admission
    key: Key
    body: bytes | None = None
