"""What a new version of the description would break for those who call the API by the old one.

Within `/v1` answers only grow, and requests only get easier: what may be sent may still be
sent, and what is read is still there.  Everything else is a new version in the path.
"""

from collections.abc import Iterator
from typing import Any

from openapi.schema_changes import (
    BreakingChange,
    Compatibility,
    Document,
    Schema,
    Versions,
    resolved,
    schema_changes,
)

_METHODS = ("get", "put", "post", "delete", "patch")


def broken(old: Document, new: Document) -> list[BreakingChange]:
    """Return what *new* breaks of *old*, both OpenAPI 3.1 documents."""
    return list(dict.fromkeys(_document_changes(Versions(old, new))))


def _document_changes(versions: Versions) -> Iterator[BreakingChange]:
    servers = {server["url"] for server in versions.new["servers"]}
    for server in versions.old["servers"]:
        if server["url"] not in servers:
            yield BreakingChange("servers", f"{server['url']} is gone")
    for path, item in versions.old["paths"].items():
        for method in item.keys() & set(_METHODS):
            there = versions.new["paths"].get(path, {}).get(method)
            if there is None:
                yield BreakingChange(f"{method.upper()} {path}", "the operation is gone")
            else:
                yield from _operation_changes(versions, item[method], there)


def _operation_changes(
    versions: Versions, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    name = old["operationId"]
    if new["operationId"] != name:
        yield BreakingChange(name, f"is called {new['operationId']} now")
    if _security(versions.new, new) != _security(versions.old, old):
        yield BreakingChange(name, "asks for another key")
    yield from _parameter_changes(versions, name, old, new)
    yield from _request_changes(versions, name, old, new)
    for status in new["responses"].keys() - old["responses"].keys():
        yield BreakingChange(f"{name} {status}", "is an answer that callers do not know")
    for status, response in old["responses"].items():
        if status not in new["responses"]:
            yield BreakingChange(f"{name} {status}", "is no answer any more")
        else:
            answer, there = resolved(versions.old, response), new["responses"][status]
            yield from _answer_changes(
                versions, f"{name} {status}", answer, resolved(versions.new, there)
            )


def _security(document: Document, operation: Schema) -> Any:
    return operation.get("security", document.get("security"))


def _parameter_changes(
    versions: Versions, name: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    were = _named(versions.old, old)
    are = _named(versions.new, new)
    for key, parameter in were.items():
        if key not in are:
            yield BreakingChange(f"{name} {key}", "the parameter is gone")
            continue
        schemas = parameter["schema"], are[key]["schema"]
        yield from schema_changes(versions, f"{name} {key}", *schemas, Compatibility.BACKWARD)
    for key, parameter in are.items():
        if parameter.get("required") and not were.get(key, {}).get("required"):
            yield BreakingChange(f"{name} {key}", "the parameter is required now")


def _named(document: Document, operation: Schema) -> dict[str, Schema]:
    found = [resolved(document, each) for each in operation.get("parameters", ())]
    return {f"{each['in']} {each['name']}": each for each in found}


def _request_changes(
    versions: Versions, name: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    body, there = old.get("requestBody", {}), new.get("requestBody", {})
    if there.get("required") and not body.get("required"):
        yield BreakingChange(f"{name} body", "is required now")
    yield from _content_changes(versions, f"{name} body", body, there, Compatibility.BACKWARD)


def _answer_changes(
    versions: Versions, where: str, old: Schema, new: Schema
) -> Iterator[BreakingChange]:
    headers = new.get("headers", {})
    for name, header in old.get("headers", {}).items():
        described = resolved(versions.old, header)
        if name not in headers:
            yield BreakingChange(f"{where} {name}", "the header is gone")
            continue
        there = resolved(versions.new, headers[name])
        if described.get("required") and not there.get("required"):
            yield BreakingChange(f"{where} {name}", "the header may be missing now")
        schemas = described["schema"], there["schema"]
        yield from schema_changes(versions, f"{where} {name}", *schemas, Compatibility.FORWARD)
    yield from _content_changes(versions, where, old, new, Compatibility.FORWARD)


def _content_changes(
    versions: Versions, where: str, old: Schema, new: Schema, way: Compatibility
) -> Iterator[BreakingChange]:
    for media, content in old.get("content", {}).items():
        there = new.get("content", {}).get(media)
        if there is None:
            yield BreakingChange(where, f"is no {media} any more")
        else:
            yield from schema_changes(versions, where, content["schema"], there["schema"], way)
