"""The description of the API, and what an answer has that it does not describe."""

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

from cs.domain.names.brand_names import Unacceptable, canonical_domain

Json = dict[str, Any]

DOCUMENT: Json = json.loads(files("cs.api").joinpath("openapi.json").read_bytes())
METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
#: Carried by every answer, or by HTTP itself.
PLAIN_HEADERS = frozenset(
    {
        "content-type",
        "content-length",
        "connection",
        "date",
        "cache-control",
        "x-content-type-options",
    }
)

FORMATS = FormatChecker(())


@FORMATS.checks("domain-or-url")
def is_domain_or_url(value: object) -> bool:
    """The one format that is ours; only strings have one."""
    if not isinstance(value, str):
        return True
    try:
        canonical_domain(value)
    except Unacceptable:
        return False
    return True


def target(pointer: str) -> Any:
    """Return what ``#/...`` points at.

    Raises:
        KeyError: It points at nothing.
    """
    node: Any = DOCUMENT
    for step in pointer.removeprefix("#/").split("/"):
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def resolved(node: Json) -> Json:
    """Return *node*, or what its reference points at."""
    found: Json = target(node["$ref"]) if "$ref" in node else node
    return found


def nodes(node: Any) -> Iterator[Json]:
    """Yield every object within *node*, itself included."""
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from nodes(child)
    elif isinstance(node, list):
        for child in node:
            yield from nodes(child)


def operations() -> Iterator[tuple[str, str, Json]]:
    """Yield (method, path, operation) of every one."""
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS & item.keys():
            yield method, path, item[method]


def operation(method: str, path: str) -> Json:
    found: Json = DOCUMENT["paths"][path][method]
    return found


def responses(described: Json) -> dict[int, Json]:
    return {int(status): resolved(r) for status, r in described["responses"].items()}


def examples(holder: Json) -> list[Any]:
    """Return the values of a media type's, parameter's or header's examples."""
    named = [resolved(example)["value"] for example in holder.get("examples", {}).values()]
    return named + ([holder["example"]] if "example" in holder else [])


#: Answered to a call that a service that leaves cannot wait for.
RESTARTING = "the service is restarting and nothing was charged; try again"


def messages_of(response: str) -> set[str]:
    """Return the messages of the examples of *response*, numbers of quota left out."""
    content = DOCUMENT["components"]["responses"][response]["content"]["application/json"]
    values = [each["error"]["message"] for each in examples(content)]
    assert len(set(values)) == len(values), "one stands there twice"
    return {any_quota(each) for each in values}


def any_quota(message: str) -> str:
    return re.sub(r"^all \d+ searches", "all searches", message)


def closed(node: Any) -> Any:
    """Return a schema that takes no field that it does not name."""
    if isinstance(node, list):
        return [closed(child) for child in node]
    if not isinstance(node, dict):
        return node
    copy = {name: closed(child) for name, child in node.items()}
    if isinstance(copy.get("properties"), dict):
        copy["additionalProperties"] = False
    return copy


_ANSWERS: Json = {"components": {"schemas": closed(DOCUMENT["components"]["schemas"])}}
_REQUESTS: Json = {"components": {"schemas": DOCUMENT["components"]["schemas"]}}


def answer_schema(schema: Json) -> Draft202012Validator:
    """Return what judges answers: a field that is not described is wrong, too."""
    return Draft202012Validator({**_ANSWERS, **schema}, format_checker=FORMATS)


def request_schema(schema: Json) -> Draft202012Validator:
    """Return what judges requests as callers see it: unknown fields are ignored."""
    return Draft202012Validator({**_REQUESTS, **schema}, format_checker=FORMATS)


def typed(schema: Json, text: str) -> object:
    """Return a header's value as its schema has it."""
    is_number = schema.get("type") == "integer" and text.isascii() and text.isdecimal()
    return int(text) if is_number else text


def faults(method: str, path: str, answer: httpx.Response) -> list[str]:
    """Return how *answer* differs from its description."""
    described = responses(operation(method, path))
    if answer.status_code not in described:
        return [f"{answer.status_code} is not described"]
    return undescribed(described[answer.status_code], answer)


def undescribed(response: Json, answer: httpx.Response) -> list[str]:
    """Return how *answer* differs from the *response* that describes it; [] if it does not."""
    return [*_of_headers(response.get("headers", {}), answer), *_of_body(response, answer)]


def _of_headers(headers: Mapping[str, Json], answer: httpx.Response) -> Iterator[str]:
    for name, header in headers.items():
        described = resolved(header)
        value = answer.headers.get(name)
        if value is None:
            if described.get("required"):
                yield f"{name} is missing"
        elif not answer_schema(described["schema"]).is_valid(typed(described["schema"], value)):
            yield f"{name}: {value!r} is not as described"
    for name in answer.headers.keys() - {name.lower() for name in headers} - PLAIN_HEADERS:
        yield f"{name} is not described"


def _of_body(response: Json, answer: httpx.Response) -> Iterator[str]:
    if "content" not in response:
        if answer.content:
            yield "there is a body"
        return
    if answer.headers["content-type"] != "application/json":
        yield f"content-type is {answer.headers['content-type']}"
    schema = response["content"]["application/json"]["schema"]
    for error in answer_schema(schema).iter_errors(answer.json()):
        yield f"{error.json_path}: {error.message}"
