"""Messages as anybody may write them who can write to a topic: bytes, JSON, and worse.

A message is one of the examples of the description of topics, of which up to three values
are spoilt: most still decode, and get as far as what they say allows.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import strategies as st

from bus.asyncapi.asyncapi_document import COMMITTED
from cs.domain.stages.table import STAGES

#: Stands in messages for the name of a stream that is really there.
STREAM = "brand-0here0"
HOME = "acme.example"

ADDRESSES = (
    "jane@exämple..de",
    "jane@.de",
    "jane@exämple.de",
    "jane@" + "ä" * 300 + ".de",
    "x\r\n<script>@acme.example",
    '"jane doe"@acme.example',
    "@",
    "jane@[127.0.0.1]",
    "jane\u0000@acme.example",
    "ĳ@\u2488com",
)
TEXTS = (
    *ADDRESSES,
    "",
    " ",
    "a\u0000b",
    "\ud800",
    "\udfff\ud800",
    "\u202eevil\u2066",
    "\u0085\u009b31m",
    "x" * 70_000,
    "javascript:alert(1)",
    "https://[::1",
    "http://a\nb",
    "'; DROP TABLE stored_events; --",
    "brand-.1",
    "brand-a\u0000.1",
    "no-brand.1",
    "p0",
    "p1\u0000",
    "ﬁ\u0345ΐ",
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    None,
    True,
    0,
    -1,
    3_000_000_000,
    2**63,
    2**200,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "2026-01-01T00:00:00",
    [],
    {},
    [[[[[[]]]]]],
    {"a\u0000": "b\ud800"},
    [{}] * 2_000,
)


class Sent(NamedTuple):
    """A record that is put on a topic."""

    topic: str
    key: bytes
    value: bytes

    def about(self, stream: str) -> "Sent":
        """Return the same about *stream*, whose name is as long as `STREAM`."""
        old, new = STREAM.encode(), stream.encode()
        assert len(old) == len(new)
        return Sent(self.topic, self.key, self.value.replace(old, new))


MESSAGES: dict[str, Any] = json.loads(COMMITTED.read_bytes())["components"]["messages"]


def examples(*names: str) -> list[Any]:
    """Return the examples of the messages called *names*, as docs/topics.md describes them."""
    return [each["payload"] for name in names for each in MESSAGES[name]["examples"]]


OUTCOMES = examples("outcome")
WORKS = examples(*(f"{stage}-work" for stage in STAGES))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, part in pairs:
        yield from _leaves(part, (*path, key))


@st.composite
def spoilt(draw: st.DrawFn, good: list[Any]) -> Any:
    """Draw one of *good*, up to three of its values replaced by worse ones."""
    message = deepcopy(draw(st.sampled_from(good)))
    stream = draw(st.sampled_from([f"{STREAM}{n}" for n in range(4)] + ["brand-nobody"]))
    # So that much of it is about work that is open.
    message["lookup"] = f"{stream}.1"
    message["item"] = HOME if message["stage"] == "verification" else ""
    for _ in range(draw(st.integers(0, 3))):
        *way, last = draw(st.sampled_from(list(_leaves(message))[1:]))
        place = message
        for step in way:
            place = place[step]
        place[last] = deepcopy(draw(st.sampled_from(VALUES)))
    return message


def _bytes(message: Any) -> bytes:
    return json.dumps(message).encode()


def outcomes() -> st.SearchStrategy[Sent]:
    values = spoilt(OUTCOMES).map(_bytes) | st.binary(max_size=64)
    return st.builds(Sent, st.just("cs.outcomes.v1"), st.binary(max_size=8), values)


def works() -> st.SearchStrategy[Sent]:
    values = spoilt(WORKS).map(_bytes) | st.binary(max_size=64)
    topics = st.sampled_from([row.topic for row in STAGES.values()])
    return st.builds(Sent, topics, st.binary(max_size=8), values)
