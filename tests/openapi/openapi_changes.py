"""What a new version of the description would break for those who call the API by the old one.

Within `/v1` answers only grow, and requests only get easier: what may be sent may still be
sent, and what is read is still there.  Everything else is a new version in the path.
"""

from collections.abc import Iterator
from typing import Any

from openapi.schema_changes import Both, Broken, Json, Way, changed, whole

_METHODS = ("get", "put", "post", "delete", "patch")


def broken(old: Json, new: Json) -> list[Broken]:
    """Return what *new* breaks of *old*, both OpenAPI 3.1 documents."""
    return list(_documents(Both(old, new)))


def _documents(both: Both) -> Iterator[Broken]:
    servers = {server["url"] for server in both.new["servers"]}
    for server in both.old["servers"]:
        if server["url"] not in servers:
            yield Broken("servers", f"{server['url']} is gone")
    for path, item in both.old["paths"].items():
        for method in item.keys() & set(_METHODS):
            there = both.new["paths"].get(path, {}).get(method)
            if there is None:
                yield Broken(f"{method.upper()} {path}", "the operation is gone")
            else:
                yield from _operations(both, item[method], there)


def _operations(both: Both, old: Json, new: Json) -> Iterator[Broken]:
    name = old["operationId"]
    if new["operationId"] != name:
        yield Broken(name, f"is called {new['operationId']} now")
    if _security(both.new, new) != _security(both.old, old):
        yield Broken(name, "asks for another key")
    yield from _parameters(both, name, old, new)
    yield from _requests(both, name, old, new)
    for status in new["responses"].keys() - old["responses"].keys():
        yield Broken(f"{name} {status}", "is an answer that callers do not know")
    for status, response in old["responses"].items():
        if status not in new["responses"]:
            yield Broken(f"{name} {status}", "is no answer any more")
        else:
            answer, there = whole(both.old, response), new["responses"][status]
            yield from _answers(both, f"{name} {status}", answer, whole(both.new, there))


def _security(document: Json, operation: Json) -> Any:
    return operation.get("security", document.get("security"))


def _parameters(both: Both, name: str, old: Json, new: Json) -> Iterator[Broken]:
    were = _named(both.old, old)
    are = _named(both.new, new)
    for key, parameter in were.items():
        if key not in are:
            yield Broken(f"{name} {key}", "the parameter is gone")
            continue
        schemas = parameter["schema"], are[key]["schema"]
        yield from changed(both, f"{name} {key}", *schemas, Way.SENT)
    for key, parameter in are.items():
        if parameter.get("required") and not were.get(key, {}).get("required"):
            yield Broken(f"{name} {key}", "the parameter is required now")


def _named(document: Json, operation: Json) -> dict[str, Json]:
    found = [whole(document, each) for each in operation.get("parameters", ())]
    return {f"{each['in']} {each['name']}": each for each in found}


def _requests(both: Both, name: str, old: Json, new: Json) -> Iterator[Broken]:
    body, there = old.get("requestBody", {}), new.get("requestBody", {})
    if there.get("required") and not body.get("required"):
        yield Broken(f"{name} body", "is required now")
    yield from _contents(both, f"{name} body", body, there, Way.SENT)


def _answers(both: Both, where: str, old: Json, new: Json) -> Iterator[Broken]:
    headers = new.get("headers", {})
    for name, header in old.get("headers", {}).items():
        described = whole(both.old, header)
        if name not in headers:
            yield Broken(f"{where} {name}", "the header is gone")
            continue
        there = whole(both.new, headers[name])
        if described.get("required") and not there.get("required"):
            yield Broken(f"{where} {name}", "the header may be missing now")
        schemas = described["schema"], there["schema"]
        yield from changed(both, f"{where} {name}", *schemas, Way.READ)
    yield from _contents(both, where, old, new, Way.READ)


def _contents(both: Both, where: str, old: Json, new: Json, way: Way) -> Iterator[Broken]:
    for media, content in old.get("content", {}).items():
        there = new.get("content", {}).get(media)
        if there is None:
            yield Broken(where, f"is no {media} any more")
        else:
            yield from changed(both, where, content["schema"], there["schema"], way)
