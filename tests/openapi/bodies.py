"""Bodies as a request schema has them, and bodies that one change has put outside of it."""

import re
from typing import Any

from hypothesis import strategies as st

from api.openapi_document import DOCUMENT, Json

SCHEMA: Json = DOCUMENT["components"]["schemas"]["ContactsRequest"]
_PROPERTIES: Json = SCHEMA["properties"]

_labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
_domains = st.builds(
    "{}{}.{}{}".format,
    st.sampled_from(["", "http://", "HTTPS://", "https://www."]),
    _labels,
    st.sampled_from(["example", "test", "co.uk", "shop.de", "xn--p1ai"]),
    st.sampled_from(["", "/", "/shop?a=b#c", ":443", ".", " "]),
)
#: The one format that is ours has no generator of its own.
_FORMATS = {"domain-or-url": _domains}
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def values(schema: Json) -> st.SearchStrategy[Any]:
    """Return values of one property's *schema*, a string or a boolean."""
    if schema["type"] == "boolean":
        return st.booleans()
    if "format" in schema:
        return _FORMATS[schema["format"]]
    low, high = schema["minLength"], schema["maxLength"]
    edges = st.sampled_from(["a" * low, "a" * high, "a" * (high - 2) + " b"])
    cores = st.from_regex(schema["pattern"]) | st.from_regex(schema["pattern"], fullmatch=True)
    refused = re.compile(schema["not"]["pattern"])
    return edges | cores.filter(
        lambda text: low <= len(text) <= high and not refused.search(text)
    )


def _of_schema() -> st.SearchStrategy[Json]:
    known = {name: values(schema) for name, schema in _PROPERTIES.items()}
    unknown = st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda name: name not in known),
        _json,
        max_size=2,
    )
    named = [
        st.fixed_dictionaries(
            {name: known[name]}, optional={k: v for k, v in known.items() if k != name}
        )
        for name in ("brand", "domain")
    ]
    return st.builds(lambda some, body: {**some, **body}, unknown, st.one_of(named))


def _less(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in {"brand", "domain"}}


_wrong_brands = (
    st.text(st.sampled_from(" \t\x00\u3000"), max_size=9)
    | st.text(max_size=1)
    | st.from_regex(_PROPERTIES["brand"]["not"]["pattern"])
    | st.sampled_from(["jane@acme.example", "Acme jane@acme.example"])
    | st.sampled_from([1, 2, 80]).map(lambda n: "a" * (_PROPERTIES["brand"]["maxLength"] + n))
)
_wrong_domains = st.sampled_from(
    [
        "xn--a.test",
        "acme.xn--a",
        "",
        "acme",
        "127.0.0.1",
        "[::1]",
        "ftp://acme.example",
        "a@acme.example",
        "acme.local",
    ]
) | st.builds("-{}.example".format, _labels)


def _not_a(kind: str) -> st.SearchStrategy[Any]:
    """Return JSON of any type but *kind*."""
    python = {"string": str, "boolean": bool}[kind]
    return _json.filter(lambda value: not isinstance(value, python))


#: What breaks a body, by name; each changes one that was right.
_MUTATIONS: dict[str, st.SearchStrategy[Any]] = {
    "another type": st.sampled_from(sorted(_PROPERTIES)).flatmap(
        lambda name: st.builds(
            lambda body, value: {**body, name: value},
            _of_schema(),
            _not_a(_PROPERTIES[name]["type"]),
        )
    ),
    "neither": _of_schema().map(_less),
    "a wrong brand": st.builds(lambda b, v: {**b, "brand": v}, _of_schema(), _wrong_brands),
    "a wrong domain": st.builds(lambda b, v: {**b, "domain": v}, _of_schema(), _wrong_domains),
    "no object": _json.filter(lambda value: not isinstance(value, dict)),
    "in a list": _of_schema().map(lambda body: [body]),
}
MUTATIONS = tuple(_MUTATIONS)


def inside() -> st.SearchStrategy[Json]:
    """Return bodies that the schema has."""
    return _of_schema()


def outside(mutation: str) -> st.SearchStrategy[Any]:
    """Return bodies that *mutation*, one of `MUTATIONS`, has put outside of the schema."""
    return _MUTATIONS[mutation]
