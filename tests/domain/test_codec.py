from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from cs.domain.codec import (
    ALSO_READ,
    ERASED,
    TOPICS,
    UnknownEvent,
    decode,
    encode,
    event_of,
    every_version,
    from_plain,
    shapes,
    to_plain,
    topic_of,
)
from cs.domain.contact import Sighting
from cs.domain.personal import Personal
from domain.golden_files import NAMES, golden
from harness.every_row import check_every

#: What a field about one person is called, wherever it stands.
PERSONS_FIELDS = {
    "full_name",
    "first_name",
    "last_name",
    "headline",
    "title",
    "location",
    "linkedin_url",
    "email",
    "address",
    "addresses",
    "conversation",
    "evidence",
}


def _keeps(written: Any, stored: Any) -> bool:
    """Return whether *written* holds all of *stored*; a newer shape may hold more."""
    if isinstance(stored, dict):
        return set(stored) <= set(written) and all(
            _keeps(written[n], stored[n]) for n in stored
        )
    if isinstance(stored, list):
        return len(written) == len(stored) and all(map(_keeps, written, stored))
    return bool(written == stored)


def test_every_shape_ever_stored_still_reads_and_is_written_the_same() -> None:
    def check(name: str) -> None:
        stored = golden(name)

        event = from_plain(stored.topic, stored.state)
        written = msgspec.json.decode(msgspec.json.encode(to_plain(event)))

        assert type(event) is event_of(stored.topic)
        assert stored.topic in ALSO_READ or _keeps(written, stored.state)
        assert from_plain(topic_of(event), written) == event
        assert encode(event) == msgspec.json.encode(to_plain(event))
        assert decode(topic_of(event), encode(event)) == event
        assert decode(stored.topic, msgspec.json.encode(stored.state)) == event
        # Fields of a newer version are skipped.
        assert from_plain(stored.topic, {**stored.state, "added_later": 1}) == event

    check_every(NAMES, check)


@pytest.mark.parametrize(
    ("name", "people"),
    [("brand.contacts-discovered.v1", "people"), ("brand.lookup-finished.v1", "contacts")],
)
def test_people_stored_before_locations_were_known_have_none(name: str, people: str) -> None:
    topic, state = golden(name)
    older = [{n: v for n, v in each.items() if n != "location"} for each in state[people]]

    event = from_plain(topic, {**state, people: older})

    assert older
    assert [each["location"] for each in to_plain(event)[people]] == [None] * len(older)


def test_what_is_no_event_of_this_version_is_reported() -> None:
    with pytest.raises(UnknownEvent, match="needs a newer one"):
        decode("key.lent.v9", b"{}")
    with pytest.raises(UnknownEvent, match=r"brand\.resolved\.v2.*needs a newer"):
        from_plain("brand.resolved.v2", {})
    with pytest.raises(msgspec.MsgspecError):
        decode("key.search-settled.v1", b"{")
    with pytest.raises(msgspec.ValidationError):
        decode("key.search-settled.v1", b"{}")


def test_every_topic_has_a_golden_file_and_every_file_a_topic() -> None:
    assert {name.partition("+")[0] for name in NAMES} == set(shapes())
    assert [golden(name).topic for name in NAMES] == [name.partition("+")[0] for name in NAMES]


def test_a_topic_is_one_event_and_is_written_or_upcast() -> None:
    assert len(set(TOPICS.values())) == len(TOPICS)
    assert not set(TOPICS) & set(ALSO_READ)
    for topic in shapes():
        event = event_of(topic)
        assert event is not None
        assert topic.startswith(every_version(event))


def _structs(of: inspect.Type, *, into_personal: bool) -> Iterator[inspect.StructType]:
    """Yield the structs that a value of type *of* may hold, itself included."""
    match of:
        case inspect.StructType(cls=cls, fields=fields):
            yield of
            if into_personal or not issubclass(cls, Personal):
                for field in fields:
                    yield from _structs(field.type, into_personal=into_personal)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _structs(each, into_personal=into_personal)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            yield from _structs(item, into_personal=into_personal)
        case inspect.DictType(key_type=key, value_type=value):
            yield from _structs(key, into_personal=into_personal)
            yield from _structs(value, into_personal=into_personal)
        case _:
            pass


@pytest.mark.parametrize("topic", shapes())
def test_what_is_about_one_person_stands_in_a_personal_value_only(topic: str) -> None:
    reached = list(_structs(inspect.type_info(shapes()[topic]), into_personal=False))

    bare = [struct for struct in reached if not issubclass(struct.cls, Personal)]
    named = {field.name for struct in bare for field in struct.fields}
    assert named & PERSONS_FIELDS == set()


def _kinds() -> dict[str, type[Personal]]:
    reached: set[type[Any]] = set()
    for shape in shapes().values():
        reached |= {s.cls for s in _structs(inspect.type_info(shape), into_personal=True)}
    assert Sighting not in reached, "a sighting travels in messages only"
    personal = [cls for cls in reached if issubclass(cls, Personal)]
    return {str(cls.__struct_config__.tag): cls for cls in personal}


def test_every_kind_of_personal_value_has_an_erased_form_that_reads() -> None:
    kinds = _kinds()

    assert set(ERASED) == set(kinds)
    for kind, cls in kinds.items():
        erased = {"personal": kind, "person": "p1", **ERASED[kind]}
        assert msgspec.convert(erased, cls).person == "p1"


@pytest.mark.parametrize("kind", ERASED)
def test_an_erased_form_says_nothing_of_anybody(kind: str) -> None:
    told = {name: value for name, value in ERASED[kind].items() if name in PERSONS_FIELDS}

    assert set(told.values()) <= {None, ""}
