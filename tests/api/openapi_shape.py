"""The parts of OpenAPI 3.1.0 that our document uses, as a JSON Schema.

Source: the field tables of the OpenAPI Specification 3.1.0, section 4.8.  Stricter than
the specification in one way: a field that is not listed here is refused, so that a
misspelt one cannot pass as an extension.
"""

from typing import Any

Json = dict[str, Any]

_TEXT: Json = {"type": "string", "minLength": 1}
_NAME = r"^[a-zA-Z0-9._-]+$"  # 4.8.7: the names of components


def _object(needed: list[str], /, **properties: Json) -> Json:
    return {
        "type": "object",
        "required": needed,
        "properties": properties,
        "additionalProperties": False,
    }


def _is(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _list_of(item: Json) -> Json:
    return {"type": "array", "items": item}


def _map_of(item: Json, keys: str = _NAME) -> Json:
    return {
        "type": "object",
        "patternProperties": {keys: item},
        "additionalProperties": False,
    }


def _or_reference(kind: str) -> Json:
    """4.8.23: a reference stands alone."""
    reference = _object(
        ["$ref"], **{"$ref": {"type": "string", "pattern": f"^#/components/{kind}/"}}
    )
    one_of = {"required": ["$ref"]}
    return {"if": one_of, "then": reference, "else": _is(kind)}


SHAPE: Json = {
    **_object(
        ["openapi", "info", "paths"],
        openapi={"const": "3.1.0"},
        info=_object(
            ["title", "version"],
            title=_TEXT,
            version={"const": "1.0.0"},
            summary=_TEXT,
            description=_TEXT,
            contact=_object(["name"], name=_TEXT),
            license=_object(["name"], name=_TEXT, identifier=_TEXT),
        ),
        servers=_list_of(_object(["url"], url=_TEXT, description=_TEXT)),
        security=_list_of(_is("security")),
        tags=_list_of(_object(["name"], name=_TEXT, description=_TEXT)),
        paths=_map_of(_map_of(_is("operation"), "^(get|post)$"), "^/"),
        components=_object(
            [],
            schemas=_map_of({"type": "object"}),
            responses=_map_of(_is("responses")),
            parameters=_map_of(_is("parameters")),
            examples=_map_of(_is("examples")),
            headers=_map_of(_is("headers")),
            securitySchemes=_map_of(_is("scheme")),
        ),
    ),
    "$defs": {
        "security": _map_of(_list_of(_TEXT)),
        "operation": _object(
            ["operationId", "responses", "tags", "summary"],
            operationId=_TEXT,
            tags=_list_of(_TEXT),
            summary=_TEXT,
            description=_TEXT,
            security=_list_of(_is("security")),
            parameters=_list_of(_or_reference("parameters")),
            requestBody=_object(
                ["content"],
                description=_TEXT,
                required={"type": "boolean"},
                content=_is("content"),
            ),
            responses=_map_of(_or_reference("responses"), "^[1-5][0-9][0-9]$"),
        ),
        "parameters": {
            **_object(
                ["name", "in", "schema"],
                name=_TEXT,
                required={"type": "boolean"},
                description=_TEXT,
                schema={"type": "object"},
                example={},
                **{"in": {"enum": ["path", "header"]}},
            ),
            "if": {"properties": {"in": {"const": "path"}}},
            "then": {"required": ["required"], "properties": {"required": {"const": True}}},
        },
        "responses": _object(
            ["description"],
            description=_TEXT,
            headers=_map_of(_or_reference("headers")),
            content=_is("content"),
            links=_map_of(
                _object(
                    ["operationId"],
                    operationId=_TEXT,
                    description=_TEXT,
                    parameters=_map_of({"type": "string", "pattern": r"^\$response\."}),
                )
            ),
        ),
        "content": _map_of(
            _object(
                ["schema", "examples"],
                schema={"type": "object"},
                examples=_map_of(_or_reference("examples")),
            ),
            "^(application/json|text/plain)$",
        ),
        "headers": _object(
            ["description", "schema", "example"],
            description=_TEXT,
            required={"type": "boolean"},
            schema={"type": "object"},
            example={},
        ),
        "examples": _object(["value"], summary=_TEXT, value={}),
        "scheme": _object(
            ["type", "scheme"],
            type={"const": "http"},
            scheme={"const": "bearer"},
            bearerFormat=_TEXT,
            description=_TEXT,
        ),
    },
}
