"""Names of sources, verifiers and reasons: no more than some are told apart."""

import re
from typing import NamedTuple

#: Different names that are told apart.
NAMES = 200
#: What stands for the others.
OTHERS = "(others)"

#: What plug-ins are called, and their reasons: nothing that could be somebody's address.
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class PluginAnswer(NamedTuple):
    """A verifier or a source, and what it said or how it ended."""

    who: str
    what: str


class Names:
    """Tells up to `NAMES` names apart; the others are one."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def known(self, name: str) -> str:
        if name in self._known:
            return name
        if len(self._known) < NAMES and _WORD.fullmatch(name):
            self._known.add(name)
            return name
        return OTHERS
