"""What messages may hold, and what is left of what they may not."""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from cs.bus.topics import UNREADABLE, decode_outcome, decode_work, encode
from cs.domain.contact import BrandFacts, CheckedPerson, Person, Query, Sighting
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.stages.limits import LIMITS, OWN_LIMITS, BeyondLimits, check, fitted, limit_of
from cs.domain.stages.work import (
    AnyFinding,
    Discovered,
    DiscoveryInput,
    DomainVerified,
    Failed,
    Outcome,
    PeopleSeen,
    RankingInput,
    ResolutionInput,
    StageName,
    Work,
)
from pipeline.hostile_messages import ADDRESSES, TEXTS

AT = datetime(2026, 1, 1, tzinfo=UTC)
ADA: dict[str, Any] = {"full_name": "Ada Kern", "source": "staff"}
OUTCOME = {
    "lookup": "brand-a.1",
    "stage": "contact-discovery",
    "attempt": 1,
    "finding": {"type": "people-seen", "people": [ADA]},
}
WORK = {
    "lookup": "brand-a.1",
    "stage": "brand-resolution",
    "attempt": 1,
    "deadline_at": "2026-01-01T00:01:00Z",
    "input": {"type": "resolution", "query": {"brand": "Acme"}},
}


def outcome(**other: Any) -> Outcome:
    return decode_outcome(msgspec.json.encode({**OUTCOME, **other}))


def work(**other: Any) -> Work:
    return decode_work(msgspec.json.encode({**WORK, **other}))


def seen(**other: Any) -> dict[str, Any]:
    return {"finding": {"type": "people-seen", "people": [{**ADA, **other}]}}


def waits(seconds: float) -> dict[str, Any]:
    return {"finding": {"type": "failed", "why": "x", "retryable": True, "retry_in_s": seconds}}


def test_what_is_right_is_read() -> None:
    outcome()
    outcome(lookup="brand-5f0c1e2d3a4b5c6d7e8f90a1b2c3d4e5.17-k7f2m9qd")
    outcome(**seen(addresses=["ada@acme.example"], headline="Tabs\tand\nlines, ünïcode 😀"))
    work()


NO_LOOKUPS = ["", "brand-", "brand-a", "brand-a.0", "brand-A.1", "key-a.1", "brand-a\0.1", "x"]
#: A mail domain, and only of verification.
NO_ITEMS = ["a\0b", "acme.example", "x" * 300, "Acme.example", "ä.de"]
FAR = ["2026-01-01T00:00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"]
#: What a person may not have, by field.
NO_PERSON = [
    ("full_name", ""),
    ("full_name", "a\0b"),
    ("full_name", "x" * 151),
    ("headline", "x" * 1_001),
    ("headline", "\x1b[31m"),
    ("linkedin_url", "javascript:alert(1)"),
    ("linkedin_url", "https://a b"),
    ("company", "x" * 201),
    ("source", "x" * 101),
    ("addresses", ["a@acme.example"] * 6),
    *(("addresses", [each]) for each in ADDRESSES if "\ud800" not in each and '"' not in each),
]


@pytest.mark.parametrize(
    ("read", "changed", "where"),
    [
        *(
            (read, {"lookup": each}, "lookup")
            for read in (outcome, work)
            for each in NO_LOOKUPS
        ),
        *((read, {"item": each}, "item") for read in (outcome, work) for each in NO_ITEMS),
        (outcome, {"stage": "verification"}, "item"),
        *(
            (outcome, {"stage": "verification", "item": each}, "item")
            for each in NO_ITEMS
            if each != "acme.example"
        ),
        (work, {"stage": "ranking"}, "input"),
        *((work, {"deadline_at": each}, "deadline_at") for each in FAR),
        *((outcome, waits(each), "finding.retry_in_s") for each in (-1.0, 1e308)),
        *(
            (outcome, seen(**{name: each}), f"finding.people.{name}")
            for name, each in NO_PERSON
        ),
    ],
)
def test_what_is_beyond_the_limits_is_refused_by_field_and_without_its_value(
    read: Callable[..., object], changed: dict[str, Any], where: str
) -> None:
    with pytest.raises(BeyondLimits) as refused:
        read(**changed)

    assert refused.value.where == where
    assert str(refused.value) == f"beyond the limits of a message: {where}"


@pytest.mark.parametrize("attempt", ["0", "-1", "3000000000", str(2**70)])
@pytest.mark.parametrize(("read", "message"), [(decode_outcome, OUTCOME), (decode_work, WORK)])
def test_what_is_no_attempt_is_refused(
    read: Callable[[bytes], object], message: dict[str, Any], attempt: str
) -> None:
    raw = msgspec.json.encode(message).replace(b'"attempt":1', b'"attempt":' + attempt.encode())

    with pytest.raises(UNREADABLE):
        read(raw)


JSON_TEXTS = st.text() | st.sampled_from(TEXTS)
SIGHTINGS = st.builds(
    Sighting,
    full_name=JSON_TEXTS,
    headline=st.none() | JSON_TEXTS,
    linkedin_url=st.none() | JSON_TEXTS,
    addresses=st.lists(JSON_TEXTS, max_size=9).map(tuple),
    source=JSON_TEXTS,
)
EVIDENCE = st.builds(
    Evidence,
    address=JSON_TEXTS,
    verdict=st.sampled_from(Verdict),
    reason=JSON_TEXTS,
    verifier=JSON_TEXTS,
    at=st.datetimes(),
    retry_in_s=st.none() | st.floats(),
)
CHECKED = st.builds(
    CheckedPerson,
    person=st.sampled_from(["p1", "p0", "\0"]),
    mail_domain=st.just("acme.example"),
    verdict=st.sampled_from(Verdict),
    address=st.none() | JSON_TEXTS,
    verifier=st.none() | JSON_TEXTS,
    evidence=st.lists(EVIDENCE, max_size=3).map(tuple),
)
FINDINGS: st.SearchStrategy[AnyFinding] = st.one_of(
    st.builds(PeopleSeen, people=st.lists(SIGHTINGS, max_size=4).map(tuple)),
    st.builds(
        Discovered,
        people=st.lists(SIGHTINGS, max_size=4).map(tuple),
        sources=st.dictionaries(JSON_TEXTS, JSON_TEXTS, max_size=3),
    ),
    st.builds(DomainVerified, checked=st.lists(CHECKED, max_size=3).map(tuple)),
    st.builds(
        Failed,
        why=JSON_TEXTS,
        retryable=st.booleans(),
        retry_in_s=st.none() | st.floats(allow_nan=False),
    ),
)


@given(FINDINGS)
def test_what_is_fitted_is_taken(finding: AnyFinding) -> None:
    try:
        sent = fitted(finding)
    except BeyondLimits:
        return
    stage: StageName = (
        "verification" if isinstance(finding, DomainVerified) else "contact-discovery"
    )
    message = Outcome(
        lookup="brand-a.1",
        stage=stage,
        item="acme.example" if stage == "verification" else "",
        attempt=1,
        finding=sent,
    )

    assert decode_outcome(encode(message)) == message


@given(FINDINGS)
def test_what_fits_is_left_as_it_is(finding: AnyFinding) -> None:
    try:
        check(finding)
    except BeyondLimits:
        return

    assert fitted(finding) == finding


def test_one_bad_address_or_person_does_not_cost_the_others() -> None:
    bad = Sighting(full_name="\0", source="x")
    good = Sighting(full_name="Ada\0 Kern", addresses=("no", "jo@exämple.de"), source="x")

    found = fitted(PeopleSeen((bad, good)))

    assert found == PeopleSeen(
        (Sighting(full_name="Ada Kern", addresses=("jo@xn--exmple-cua.de",), source="x"),)
    )


def test_what_a_plug_in_leaves_empty_is_no_finding() -> None:
    nameless: Any = Sighting(full_name=None, source="x")  # type: ignore[arg-type]

    assert fitted(PeopleSeen((nameless,))) == PeopleSeen(())
    with pytest.raises(BeyondLimits, match="retry_in_s"):
        check(Failed(why="x", retryable=True, retry_in_s=math.nan))


def test_every_limit_is_of_a_field() -> None:
    shapes = set(_shapes(inspect.multi_type_info([Work, Outcome])))

    assert set(LIMITS) <= {name for shape in shapes for name in shape.__struct_fields__}
    for shape, limits in OWN_LIMITS.items():
        assert set(limits) <= set(shape.__struct_fields__)


def test_work_with_every_person_at_the_limits_fits_into_a_record() -> None:
    wide = "\U0001f600"
    person = Person(
        person="p100",
        full_name=wide * 150,
        first_name=wide * 150,
        last_name=wide * 150,
        headline=wide * 1_000,
        company=wide * 200,
        linkedin_url="https://" + "x" * 992,
        location=wide * 200,
        addresses=("x" * 60 + "@" + "x" * 60 + "." + "x" * 60 + "." + "x" * 60 + ".example",)
        * 5,
        sources=("x" * 100,),
    )
    brand = BrandFacts(
        name=wide * 200,
        aliases=(wide * 100,) * 50,
        mail_domains=("x" * 60 + ".example",) * 10,
    )
    full = Work(
        lookup="brand-" + "a" * 64 + ".1",
        stage="ranking",
        attempt=1,
        deadline_at=AT,
        input=RankingInput(brand, (person,) * 100),
    )

    check(full)
    assert len(encode(full)) < 1_048_576 - 1_000  # its headers and what Kafka adds


def test_query_and_discovery_inputs_are_held_to_their_limits() -> None:
    check(ResolutionInput(Query("Acme", "acme.example")))
    with pytest.raises(BeyondLimits, match=r"query\.brand"):
        check(ResolutionInput(Query("x" * 121)))
    with pytest.raises(BeyondLimits, match=r"brand\.mail_domains"):
        check(DiscoveryInput(BrandFacts(name="Acme", mail_domains=("a\0b",))))


def test_every_text_number_moment_and_list_of_a_message_has_a_limit() -> None:
    free = [
        f"{shape.__name__}.{field.name}"
        for shape in set(_shapes(inspect.multi_type_info([Work, Outcome])))
        for field in inspect.type_info(shape).fields  # type: ignore[attr-defined]
        if limit_of(shape, field.name) is None and not _is_closed(field.type)
    ]

    assert free == []


def _is_closed(of: inspect.Type) -> bool:
    """Return whether *of* bounds itself: a shape, a flag, or one of a closed set of words."""
    match of:
        case inspect.UnionType(types=types):
            return all(map(_is_closed, types))
        case inspect.StructType() | inspect.BoolType() | inspect.NoneType():
            return True
        case inspect.LiteralType() | inspect.EnumType():
            return True
        case _:
            return False


def _shapes(kinds: Iterable[inspect.Type]) -> Iterator[type[msgspec.Struct]]:
    """Yield every shape in *kinds*, also inside of others."""
    for kind in kinds:
        match kind:
            case inspect.StructType(cls=shape, fields=fields):
                yield shape
                yield from _shapes(field.type for field in fields)
            case inspect.UnionType(types=types):
                yield from _shapes(types)
            case inspect.VarTupleType(item_type=item):
                yield from _shapes([item])
            case _:
                pass
