"""The committed description of the topics is the one that the types make, and is true."""

import gzip
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bus.asyncapi.asyncapi_document import COMMITTED, described
from cs.domain.codec import TOPICS as EVENT_TYPES

DOCUMENT: dict[str, Any] = json.loads(COMMITTED.read_bytes())
MESSAGES = DOCUMENT["components"]["messages"]
WRONG = jsonschema.ValidationError


def check(message: str, payload: Any) -> None:
    """Raise `jsonschema.ValidationError` if *payload* is no *message*."""
    schema = {**MESSAGES[message]["payload"], "components": DOCUMENT["components"]}
    jsonschema.validate(payload, schema, jsonschema.Draft7Validator)


def test_what_is_committed_is_what_the_types_say_now() -> None:
    assert COMMITTED.read_bytes() == described()


@pytest.mark.slow
def test_the_document_is_one_of_asyncapi_3() -> None:
    packed = Path(__file__).with_name("asyncapi-3.0.0") / "schema.json.gz"
    schema = json.loads(gzip.decompress(packed.read_bytes()))

    jsonschema.validate(DOCUMENT, schema, jsonschema.Draft7Validator)
    with pytest.raises(WRONG):
        jsonschema.validate({**DOCUMENT, "chanels": {}}, schema, jsonschema.Draft7Validator)


@pytest.mark.parametrize("message", sorted(set(MESSAGES) - {"dead-letter"}))
def test_every_message_has_examples_that_fit_its_schema(message: str) -> None:
    examples = MESSAGES[message]["examples"]

    assert examples
    for example in examples:
        check(message, example["payload"])
        assert example["headers"].keys() == MESSAGES[message]["headers"]["properties"].keys()
        schema = MESSAGES[message]["headers"]["properties"]["schema"]["description"]
        assert example["headers"]["schema"] == schema


@pytest.mark.parametrize("topic", sorted(EVENT_TYPES))
def test_events_are_described_as_they_are_stored_without_people(topic: str) -> None:
    for example in MESSAGES[topic]["examples"]:
        assert example["payload"]["topic"] == topic
        assert "Quillfeather" not in json.dumps(example)


@pytest.mark.parametrize(
    ("message", "field", "value"),
    [
        ("ranking-work", "stage", "verification"),
        ("ranking-work", "attempt", "1"),
        ("verification-work", "input", {"type": "ranking"}),
        ("outcome", "finding", {"type": "no-such-kind"}),
        ("outcome", "finding", {"type": "failed", "why": "bug"}),
        ("brand.people-found.v1", "topic", "brand.resolved.v1"),
        ("brand.people-found.v1", "version", "0"),
    ],
)
def test_what_the_service_would_not_take_does_not_fit(
    message: str, field: str, value: Any
) -> None:
    good = MESSAGES[message]["examples"][0]["payload"]

    with pytest.raises(WRONG):
        check(message, {**good, field: value})


def test_a_person_in_clear_fits_no_event() -> None:
    good = MESSAGES["brand.people-found.v1"]["examples"][0]["payload"]
    person = {"personal": "person", "person": "p1", "full_name": "Zoë Quillfeather"}

    check("brand.people-found.v1", good)
    with pytest.raises(WRONG):
        check("brand.people-found.v1", {**good, "state": {**good["state"], "people": [person]}})
