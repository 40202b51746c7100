"""The topics as an AsyncAPI 3.0 document, made from the types that are spoken on them.

The committed one, ``asyncapi.json``, has examples too, made from stored events by
``tests/bus/asyncapi/asyncapi_document.py``, which also writes it.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from topics_schemas import (
    EVENT_TYPES,
    event_schema,
    event_schemas,
    headers,
    message_schemas,
    ref,
    work_schema,
)

from cs.bus.topics import (
    DEAD_LETTERS,
    EVENTS,
    OUTCOMES,
    PARTITIONS,
    STAGE_TOPICS,
    TOPICS,
    TopicPlan,
)
from cs.domain.stages.table import STAGES

#: Of the topics as a whole: raised when a message gets something new.
VERSION = "1.5.0"
BINDING = "0.5.0"

#: Message -> what it may look like.
Examples = Mapping[str, Sequence[Mapping[str, Any]]]

#: Topic -> who reads it, in our words for consumer groups.
GROUPS = {
    **{topic: stage for stage, topic in STAGE_TOPICS.items()},
    OUTCOMES: "process-manager",
}

_KEYS = {
    **{
        row.topic: (
            "the lookup."
            if row.item is None
            else f"the {row.item.replace('_', ' ')}, so that one worker asks it at a time."
        )
        for row in STAGES.values()
    },
    OUTCOMES: "the lookup.",
    DEAD_LETTERS: "the key that the record came with.",
    EVENTS: "the stream.",
}
_CARRIES = {
    **{topic: f"Work for the stage {stage}." for stage, topic in STAGE_TOPICS.items()},
    OUTCOMES: "What stages found: signs of life, progress, results, failures.",
    DEAD_LETTERS: "Records that nobody could read, as they were.",
    EVENTS: "Every event, as it is stored: values about people are sealed.",
}


def document(examples: Examples) -> dict[str, Any]:
    """Return the document of the topics, with *examples* of their messages."""
    messages = {
        name: {**message, **_examples(name, examples)} for name, message in _messages().items()
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Contact search: topics",
            "version": VERSION,
            "description": (
                "What the parts of the service say to each other on Kafka, and the public "
                "feed of events. Operations are the service's: it sends work, and receives "
                "outcomes. An operator's prefix may stand before every address. "
                "docs/topics.md tells how to write a stage."
            ),
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {_channel(plan.name): _described(plan) for plan in TOPICS},
        "operations": dict(_operation(plan.name) for plan in TOPICS),
        "components": {
            "messages": messages,
            "schemas": dict(sorted({**message_schemas(), **event_schemas()}.items())),
        },
    }


def _channel(topic: str) -> str:
    """Return the name of a topic within the document.

    >>> _channel("cs.dead-letters.v1")
    'dead-letters'
    """
    return topic.removeprefix("cs.").rpartition(".v")[0]


def _names(topic: str) -> list[str]:
    """Return the names of the messages on *topic*."""
    match topic:
        case _ if topic == EVENTS:
            return list(EVENT_TYPES)
        case _ if topic == OUTCOMES:
            return ["outcome"]
        case _ if topic == DEAD_LETTERS:
            return ["dead-letter"]
        case _:
            return [f"{_channel(topic)}-work"]


def _said(topic: str) -> str:
    return f"{_CARRIES[topic]} Key: {_KEYS[topic]}"


def _described(plan: TopicPlan) -> dict[str, Any]:
    return {
        "address": plan.name,
        "description": _said(plan.name),
        "messages": {
            name: {"$ref": f"#/components/messages/{name}"} for name in _names(plan.name)
        },
        "bindings": {
            "kafka": {
                "partitions": PARTITIONS,
                "topicConfiguration": {
                    "cleanup.policy": ["delete"],
                    "retention.ms": plan.retention // timedelta(milliseconds=1),
                },
                "bindingVersion": BINDING,
            }
        },
    }


def _operation(topic: str) -> tuple[str, dict[str, Any]]:
    channel = _channel(topic)
    receives = topic == OUTCOMES
    operation: dict[str, Any] = {
        "action": "receive" if receives else "send",
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [
            {"$ref": f"#/channels/{channel}/messages/{name}"} for name in _names(topic)
        ],
    }
    if topic in GROUPS:
        read_by = {"groupId": {"type": "string", "enum": [GROUPS[topic]]}}
        operation["bindings"] = {"kafka": {**read_by, "bindingVersion": BINDING}}
    return (f"receive-{channel}" if receives else f"send-{channel}", operation)


def _messages() -> dict[str, dict[str, Any]]:
    found = {}
    for stage, topic in STAGE_TOPICS.items():
        (name,) = _names(topic)
        found[name] = _message(topic, f"Work for {stage}", work_schema(stage))
    found["outcome"] = _message(OUTCOMES, "What a stage found", ref("Outcome"))
    for event in EVENT_TYPES:
        found[event] = _message(EVENTS, event, event_schema(event))
    letter = _message(DEAD_LETTERS, "Unreadable", {"description": "Bytes, as they came."})
    found["dead-letter"] = {**letter, "contentType": "application/octet-stream"}
    return found


def _message(topic: str, title: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    key = {"type": "string", "description": _KEYS[topic]}
    return {
        "title": title,
        "contentType": "application/json",
        "headers": headers(topic),
        "payload": payload,
        "bindings": {"kafka": {"key": key, "bindingVersion": BINDING}},
    }


def _examples(name: str, examples: Examples) -> dict[str, Any]:
    return {"examples": list(examples[name])} if examples.get(name) else {}
