"""The shapes of messages and their headers as JSON Schema, from the types themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from cs.bus import headers as names
from cs.bus.topics import DEAD_LETTERS, EVENTS, OUTCOMES, PublicEvent
from cs.domain.causation import AnyCause
from cs.domain.codec import shapes
from cs.domain.personal import Personal
from cs.domain.stages.limits import (
    LIMITS,
    OWN_LIMITS,
    Limit,
    ListLimit,
    MapLimit,
    NumberLimit,
    TextLimit,
)
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import Outcome, StageName, Work

Schema = dict[str, Any]

#: Before the names of shapes as they are stored, where people are sealed.
STORED = "Stored"
SEALED = "Sealed"

#: Stored next to sealed values (`cs.eventlog.sealing`).
SEALED_WITH = "sealed_with"
_KEY_IDS: Schema = {
    "type": "object",
    "description": "By person, which key seals their values; not for you.",
    "additionalProperties": {"type": "string"},
}

#: Stored with every event (`cs.eventlog.stored_cause`).
CAUSED_BY = "caused_by"
_CAUSE = STORED + "Cause"

#: What is stored under each topic of an event.
EVENT_TYPES = shapes()


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def message_schemas() -> dict[str, Schema]:
    """Return the shapes of work, outcomes and published events, people in clear."""
    _, found = msgspec.json.schema_components(
        [Work, Outcome, PublicEvent], ref_template=ref("{name}")["$ref"]
    )
    plain = {name: _plain(schema) for name, schema in found.items()}
    own = {shape.__name__: limits for shape, limits in OWN_LIMITS.items()}
    for shape, schema in plain.items():
        for name, field in schema.get("properties", {}).items():
            _limit(field, own.get(shape, {}).get(name, LIMITS.get(name)))
    return plain


def _limit(schema: Schema, limit: Limit | None) -> None:
    """Say in *schema* what `cs.domain.stages.limits` refuses; ``null`` stays allowed."""
    for one in schema.get("anyOf", [schema]):
        match limit, one.get("type"):
            case TextLimit(most=most, pattern=pattern), "string":
                one.update({"maxLength": most, "pattern": pattern})
            case NumberLimit(least, most), "integer" | "number":
                one.update({"minimum": least, "maximum": most})
            case ListLimit(most, each), "array":
                one["maxItems"] = most
                _limit(one["items"], each)
            case MapLimit(most, name, value), "object":
                one["maxProperties"] = most
                _limit(one["additionalProperties"], value)
                one["propertyNames"] = {"maxLength": name.most, "pattern": name.pattern}
            case _:
                pass  # a moment, or null


def event_schemas() -> dict[str, Schema]:
    """Return the shapes of all stored events, where whatever is about a person is sealed."""
    (*_, cause), found = msgspec.json.schema_components(
        [*EVENT_TYPES.values(), AnyCause], ref_template=ref(STORED + "{name}")["$ref"]
    )
    kinds = {cls.__name__: str(cls.__struct_config__.tag) for cls in _personal()}
    stored = {
        STORED + name: _sealed(kinds[name]) if name in kinds else _plain(schema)
        for name, schema in found.items()
    }
    stored[_CAUSE] = {"description": "What caused the event.", **_plain(cause)}
    for cls in EVENT_TYPES.values():
        stored[STORED + cls.__name__]["properties"][CAUSED_BY] = ref(_CAUSE)
        if any(
            n.removeprefix(STORED) in kinds
            for n, _ in _reached(stored, [STORED + cls.__name__])
        ):
            stored[STORED + cls.__name__]["properties"][SEALED_WITH] = _KEY_IDS
    return dict(_reached(stored, [STORED + cls.__name__ for cls in EVENT_TYPES.values()]))


def work_schema(stage: StageName) -> Schema:
    """Return the shape of work for *stage*."""
    return _narrowed("Work", stage=_one(stage), input=ref(STAGES[stage].input.__name__))


def event_schema(topic: str) -> Schema:
    """Return the shape of a published event that is stored under *topic*."""
    state = ref(STORED + EVENT_TYPES[topic].__name__)
    return _narrowed("PublicEvent", topic=_one(topic), state=state)


def _narrowed(general: str, **properties: Schema) -> Schema:
    return {"allOf": [ref(general), {"type": "object", "properties": properties}]}


def headers(topic: str) -> Schema:
    """Return the headers of the records of *topic*: all of them text."""
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": says}
            for name, says in _headers(topic).items()
        },
    }


def _headers(topic: str) -> dict[str, str]:
    if topic == DEAD_LETTERS:
        return {
            "topic": "Where the record came from, without prefix.",
            "partition": "Its partition there.",
            "offset": "Its offset there.",
            "error": "Name of the error that reading it gave.",
        }
    trace = "W3C trace context; one trace a lookup, passed on from work to its outcomes."
    found = {names.TRACEPARENT: trace, names.MESSAGE_ID: _MESSAGE_ID[topic == EVENTS]}
    if topic == EVENTS:
        return {
            **found,
            names.SCHEMA: names.EVENT_SCHEMA,
            names.EVENT: "What happened, the value's `topic`.",
        }
    return {
        **found,
        names.ATTEMPT: "Number of the attempt, from 1.",
        names.DEADLINE: "When an answer comes too late, in unix milliseconds.",
        names.SCHEMA: names.OUTCOME_SCHEMA if topic == OUTCOMES else names.WORK_SCHEMA,
    }


_MESSAGE_ID = {
    False: "The same for the same message: lookup/stage/item/attempt/kind.",
    True: "The same for the same event: stream/version.",
}


def _one(value: str) -> Schema:
    return {"enum": [value]}


def _sealed(kind: str) -> Schema:
    return {
        "title": SEALED,
        "description": f"A {kind}, sealed whole; opened only by the service.",
        "type": "object",
        "properties": {
            "sealed": _one(kind),
            "person": {
                "type": "string",
                "description": "Tells people of one lookup apart, and nothing else of them.",
            },
            "box": {"type": "string", "description": "Base64; what is in it is not for you."},
        },
        "required": ["sealed", "person", "box"],
    }


def _plain(value: Any, name: str = "") -> Any:
    """Return a schema in the words of AsyncAPI, with times marked as such."""
    if isinstance(value, Mapping):
        # In AsyncAPI it is a name only; tags stand in the shapes anyway.
        found = {
            key: _plain(part, key) for key, part in value.items() if key != "discriminator"
        }
        if found == {"type": "string"} and (name == "at" or name.endswith("_at")):
            found["format"] = "date-time"
        return found
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _personal(of: type[Personal] = Personal) -> Iterator[type[Personal]]:
    for cls in of.__subclasses__():
        yield cls
        yield from _personal(cls)


def _reached(schemas: Mapping[str, Schema], start: list[str]) -> Iterator[tuple[str, Schema]]:
    """Yield those of *schemas* that *start* leads to: some are only within sealed ones."""
    seen: set[str] = set()
    while start:
        name = start.pop()
        if name not in seen:
            seen.add(name)
            yield name, schemas[name]
            start.extend(_refs(schemas[name]))


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for part in value.values():
            yield from _refs(part)
    elif isinstance(value, list):
        for part in value:
            yield from _refs(part)
