"""What a new version of the topics would break for those who speak them.

Within ``v1`` messages only grow: a field is added with a default, a type of message or a
tag is added.  Everything else is a new topic next to the old one.
"""

from collections.abc import Iterator

from openapi.schema_changes import (
    BreakingChange,
    Document,
    Schema,
    Versions,
    field_changes,
    schema_changes,
)


def broken(old: Document, new: Document) -> list[BreakingChange]:
    """Return what *new* breaks of *old*, both AsyncAPI documents of the topics.

    >>> broken(
    ...     {"channels": {"a": {"address": "cs.a.v1", "messages": {}}}}, {"channels": {}}
    ... )
    [BreakingChange(where='a', what='the channel is gone')]
    """
    return list(dict.fromkeys(_document_changes(old, new)))


def _document_changes(old: Document, new: Document) -> Iterator[BreakingChange]:
    for name, channel in old["channels"].items():
        there = new["channels"].get(name)
        if there is None:
            yield BreakingChange(name, "the channel is gone")
            continue
        if channel["address"] != there["address"]:
            yield BreakingChange(name, f"the address is now {there['address']}")
        for message in channel["messages"].keys() - there["messages"].keys():
            yield BreakingChange(name, f"the message {message} is gone")
    messages = new.get("components", {}).get("messages", {})
    for name, message in old.get("components", {}).get("messages", {}).items():
        if name in messages:
            yield from _message_changes(Versions(old, new), name, message, messages[name])


def _message_changes(
    versions: Versions, name: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    if old["contentType"] != new["contentType"]:
        yield BreakingChange(name, f"the content type is now {new['contentType']}")
    if old["bindings"]["kafka"]["key"] != new["bindings"]["kafka"]["key"]:
        yield BreakingChange(name, "the key is another")
    # Whoever speaks or reads a topic holds messages of the old form: they stay valid.
    yield from field_changes(versions, f"{name} header", old["headers"], new["headers"])
    yield from schema_changes(versions, name, old["payload"], new["payload"])
