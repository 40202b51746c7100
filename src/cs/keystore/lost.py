"""Personal values whose data key is lost: read as erased, counted and reported.

A key store that came back older than the log lacks keys of values that the log holds, or
has another key of the same name.  A reader of such a value goes on without it, as if its
person had been erased; that this happened is never silent (docs/runbook.md,
"Data keys are lost").
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

import msgspec
from structlog import get_logger

from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: How often the log line comes while such values are read.
LOG_EVERY_S = 60.0
#: Names of keys remembered, some 100 bytes each; the count says "at least" beyond.
REMEMBERED = 10_000

#: ``missing``: the store has no key of that name and does not know that it was destroyed.
#: ``another``: it has one, and not the one that the value was sealed with.
#: ``unnamed``: the value was sealed before values named their key, and its key does not open
#: it: it is another one, or the value is damaged.
Why: TypeAlias = Literal["missing", "another", "unnamed"]


class LostValue(msgspec.Struct, frozen=True):
    """One sealed value that cannot be opened.

    Attributes:
        name: Of its data key.
        position: Of its event in the log; 0 if it stands elsewhere.
        stream: Of that event.
    """

    name: str
    why: Why
    position: int = 0
    stream: str = ""


Listener: TypeAlias = Callable[[LostValue], None]


class LostValues:
    """What one process has met of them since it started.

    Attributes:
        read: How often such a value was read as erased, by why; only grows.
    """

    def __init__(self) -> None:
        self.read: Counter[Why] = Counter()
        self._throttle = LogThrottle(LOG_EVERY_S)
        self._why: dict[str, Why] = {}  # by name of the key
        self._listeners: list[Listener] = []

    @property
    def keys(self) -> Mapping[Why, int]:
        """How many keys were found lost, by why; each once, up to `REMEMBERED`."""
        return Counter(self._why.values())

    def note(self, values: Iterable[LostValue]) -> None:
        """Count *values*, and say so in the log now and then."""
        newest = None
        for newest in values:
            self.read[newest.why] += 1
            if newest.name in self._why or len(self._why) < REMEMBERED:
                self._why[newest.name] = newest.why
            for listener in self._listeners:
                listener(newest)
        if newest is not None:
            self._log(newest)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call *listener* with each value until left."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _log(self, newest: LostValue) -> None:
        if self._throttle.allow() is None:
            return
        log.error(
            "data_keys_lost",
            keys=dict(self.keys),
            values_read_as_erased=self.read.total(),
            newest=newest.name,
            position=newest.position,
        )
