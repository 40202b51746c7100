"""Messages as anybody may write them who can write to a topic: bytes, JSON, and worse.

A message is drawn with every field right, from the shapes themselves, and then up to three
of its values are spoilt: most still decode, and get as far as what they say allows.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from cs.domain.stages.table import STAGES
from cs.domain.stages.work import Outcome, Work

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

#: What a field of that name holds when nothing is wrong.
_RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "lookup": st.sampled_from([f"{STREAM}{n}.1" for n in range(4)] + ["brand-nobody.1"]),
    "attempt": st.integers(1, 3),
    "deadline_at": st.just("2026-01-01T00:01:00Z"),
    "at": st.just("2026-01-01T00:00:00Z"),
    "person": st.sampled_from(["p1", "p2", "p9"]),
    "mail_domain": st.just(HOME),
    "mail_domains": st.just([HOME]),
    "domain": st.sampled_from([HOME, None]),
    "address": st.sampled_from([f"ada.kern@{HOME}", None]),
    "addresses": st.lists(st.sampled_from([f"ada@{HOME}", "ben@other.example"]), max_size=2),
    "verifier": st.sampled_from(["smtp", None]),
    "score": st.floats(0, 1),
    "retry_in_s": st.sampled_from([None, 0.0, 30.0]),
    "at_ms": st.integers(0, 1_000),
    "contacts": st.just(25),
}
_PAGES = {"linkedin_url", "linkedin_company_url", "instagram", "tiktok"}


class Sent(NamedTuple):
    """What is put on a topic."""

    topic: str
    key: bytes
    value: bytes

    def about(self, stream: str) -> "Sent":
        """Return the same about *stream*, whose name is as long as `STREAM`."""
        old, new = STREAM.encode(), stream.encode()
        assert len(old) == len(new)
        return Sent(self.topic, self.key, self.value.replace(old, new))


def shaped(of: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Return JSON values of the shape *of* in which nothing is wrong."""
    return _of(inspect.type_info(of), "")


def _of(kind: inspect.Type, name: str) -> st.SearchStrategy[Any]:  # noqa: C901 - a match
    if name in _RIGHT and not isinstance(kind, inspect.StructType):
        return _RIGHT[name]
    match kind:
        case inspect.StructType(fields=fields):
            known = {field.encode_name: _of(field.type, field.name) for field in fields}
            if kind.tag_field is not None:
                known[kind.tag_field] = st.just(kind.tag)
            return st.fixed_dictionaries(known)
        case inspect.UnionType(types=types):
            return st.one_of([_of(each, name) for each in types])
        case inspect.StrType():
            if name in _PAGES:
                return st.just("https://www.linkedin.com/in/ada-kern")
            return st.text("aä \u0430\n'\"<\U0001f600é", min_size=1, max_size=8).map(
                "A".__add__
            )
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return st.integers(0, 1_000)
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.EnumType(cls=cls):
            return st.sampled_from([each.value for each in cls])
        case inspect.VarTupleType(item_type=item):
            return st.lists(_of(item, name), max_size=2)
        case inspect.DictType(value_type=value):
            return st.dictionaries(st.just("smtp"), _of(value, name), max_size=1)
        case _:
            raise AssertionError(f"{kind} of {name}")


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
def spoilt(draw: st.DrawFn, of: type[msgspec.Struct]) -> Any:
    """Draw a message of the shape *of*, up to three of its values replaced by worse ones."""
    message = deepcopy(draw(shaped(of)))
    # So that much of it is about work that is open.
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
    values = spoilt(Outcome).map(_bytes) | st.binary(max_size=64)
    return st.builds(Sent, st.just("cs.outcomes.v1"), st.binary(max_size=8), values)


def works() -> st.SearchStrategy[Sent]:
    values = spoilt(Work).map(_bytes) | st.binary(max_size=64)
    topics = st.sampled_from([row.topic for row in STAGES.values()])
    return st.builds(Sent, topics, st.binary(max_size=8), values)
