"""The messages that an operator sent: the proof that a report by mail is about one of them.

Anybody can write a report that names any mailbox.  The ``Message-ID`` of a message is known to
those who sent it and to those who received it, so a report counts for a recipient if it
returns a message with an ID that was sent to that very recipient.  A recipient who knows the
ID of their own message proves nothing about others.
"""

import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from cs.domain.mail.syntax import ascii_mailbox
from cs.runtime.table_text import open_bounded

#: A larger file is to be split, with the mails that belong to each part.
_MOST_BYTES = 1 << 30
_MOST_LINES = 2_000_000
_LONGEST_LINE = 2_000
#: Between Message-ID and recipient: neither holds one of these.
_BETWEEN = re.compile(r"[\s,;|]+")


class SentMessages:
    """Which message was sent to which recipient; held as hashes.

    Args:
        pairs: ``Message-ID`` and recipient of each.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._known = {_digest(id_, recipient) for id_, recipient in pairs}

    @classmethod
    def read(cls, path: Path) -> "SentMessages":
        """Return the messages in *path*, a line ``message-id,recipient`` each.

        A line that names columns is a message that no report returns.

        Raises:
            ValueError: A line is something else; the message says which.
            OSError: It cannot be read.
        """
        with open_bounded(path, _MOST_BYTES, _MOST_LINES) as file:
            return cls(_pairs(iter(lambda: file.readline(_LONGEST_LINE), b"")))

    def prove(self, ids: Iterable[str], recipient: str) -> bool:
        """Return whether a message with one of *ids* was sent to *recipient*."""
        return any(_digest(each, recipient) in self._known for each in ids if each.strip("<> "))


def _pairs(lines: Iterable[bytes]) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        match _BETWEEN.split(line.decode("utf-8-sig", errors="replace").strip()):
            case [""]:
                continue
            case [id_, recipient]:
                yield id_, recipient
            case _:
                raise ValueError(f"line {number} is not `message-id,recipient`")


def _digest(id_: str, recipient: str) -> bytes:
    mailbox = ascii_mailbox(recipient.strip('<>"')).lower()
    pair = id_.strip('<>" ') + "\n" + mailbox
    return blake2b(pair.encode(errors="backslashreplace"), digest_size=16).digest()
