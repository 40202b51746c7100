"""JSON of services and pages made to cost much: read or refused within a budget."""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.contact import BrandFacts, Query
from cs.outside.port import Response
from cs.plugins.contracts.stand_in import ServiceRequest, StandIn, source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import BrandAnswer, PeopleAnswer, SourceStatus
from harness.budget import mib_of, seconds_of
from harness.clients import plugin

MAX_BYTES = 2 * 1024 * 1024  # of an answer
SAID: list[bytes] = []


def say(asked: ServiceRequest) -> Response:
    """Say the body in `SAID` to the first question, and nothing to the others."""
    body = SAID.pop() if SAID else b"{}"
    return Response(status=200, headers={}, body=body, url=asked.path)


@cache
def source(group: Group, name: str) -> Any:
    return plugin(group, name, source_context(StandIn(say), url="http://127.0.0.1"))


def people(body: bytes) -> PeopleAnswer:
    SAID[:] = [body]
    searxng = source(Group.PEOPLE_SOURCES, "searxng")
    answer: PeopleAnswer = asyncio.run(searxng.find(BrandFacts(name="Acme"), limit=25))
    return answer


def brands(body: bytes) -> BrandAnswer:
    SAID[:] = [body]
    wikidata = source(Group.BRAND_SOURCES, "wikidata")
    answer: BrandAnswer = asyncio.run(wikidata.find(Query(brand="Acme"), None))
    return answer


def filled(start: bytes, unit: bytes, end: bytes) -> bytes:
    room = MAX_BYTES - len(start) - len(end) - len(unit)
    return start + unit * (room // len(unit)) + end


RESULT = (
    b'{"title":"Jane Doe - Head of Social at Acme | LinkedIn",'
    b'"url":"https://www.linkedin.com/in/jane%d","content":"a@b.example"}'
)
BODIES = {
    "empty results": filled(b'{"results":[', b"{},", b"{}]}"),
    "results": b'{"results":[' + b",".join(RESULT % number for number in range(14_000)) + b"]}",
    "one long title": b'{"results":[{"url":"https://linkedin.com/in/x","title":"'
    + b"a - | " * 300_000
    + b'"}]}',
    "one long text": b'{"results":[{"url":"https://linkedin.com/in/x","content":"'
    + b"a@b.example " * 150_000
    + b'"}]}',
    "one long address": b'{"results":[{"url":"https://linkedin.com/in/'
    + b"%41/" * 400_000
    + b'"}]}',
    "silent engines": filled(b'{"unresponsive_engines":[', b'["a","b"],', b'["a","b"]]}'),
    "deep": filled(b'{"x":', b"[", b""),
    "deep and whole": b'{"unresponsive_engines":' + b"[" * 900 + b"]" * 900 + b"}",
    "one number": b'{"x":' + b"1" * (MAX_BYTES - 9) + b"}",
    "one string": b'{"x":"' + rb"\u0041" * 300_000 + b'"}',
    "many fields": b"{" + b",".join(b'"%d":1' % n for n in range(180_000)) + b"}",
    "found": filled(b'{"search":[', b'{"id":"Q1","label":"Acme"},', b'{"id":"Q2"}]}'),
    "items": b'{"entities":{'
    + b",".join(b'"Q%d":{"id":"Q%d","claims":{}}' % (n, n) for n in range(50_000))
    + b"}}",
    "an error": b'{"error":{"code":"x","info":"' + b"y" * (MAX_BYTES - 100) + b'"}}',
}


Ask = Callable[[bytes], PeopleAnswer | BrandAnswer]


#: Bodies that only one of them looks into; the others are for both.
OF_BRANDS = ("found", "items", "an error")
OF_BOTH = ("deep", "one number", "one string", "many fields")
ASKED = [(people, name) for name in BODIES if name not in OF_BRANDS] + [
    (brands, name) for name in (*OF_BRANDS, *OF_BOTH)
]


@pytest.mark.slow  # to count memory
@pytest.mark.parametrize(("ask", "name"), ASKED)
def test_two_mebibytes_of_json_cost_little(ask: Ask, name: str) -> None:
    body = BODIES[name]
    answers: list[PeopleAnswer | BrandAnswer] = []

    assert seconds_of(lambda: answers.append(ask(body))) < 2
    assert mib_of(lambda: ask(body)) < 80
    (answer,) = answers
    assert answer.ended in SourceStatus
    assert len(answer.why or "") < 1_000


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["results", "url", "title", "content", "search", "id", "entities"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
)


@given(anything | st.binary(max_size=40))
def test_any_json_is_read_or_refused(value: object) -> None:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)

    assert people(body).ended in SourceStatus
    assert brands(body).ended in SourceStatus
