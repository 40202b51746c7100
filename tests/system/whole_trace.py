"""The trace that one search in the bundled world leaves, in either form of the service."""

from typing import Any

from cs.domain.stages.table import OWN_STAGES
from harness.otlp import ReceivedSpan

_CALL = "POST /v1/contacts"

#: Names of a span's parents by its name.
WHOLE_TRACE: dict[str, set[str]] = {
    _CALL: {"-"},
    **{f"publish {stage}": {_CALL} for stage in OWN_STAGES},
    **{f"stage {stage}": {f"publish {stage}"} for stage in OWN_STAGES},
    **{f"record {stage}": {f"publish {stage}"} for stage in OWN_STAGES},
    "source wikidata": {"stage brand-resolution"},
    "source website": {"stage brand-resolution"},
    "source directory": {"stage contact-discovery"},
    "source searxng": {"stage contact-discovery"},
    "verifier smtp": {"stage verification"},
    "settle": {_CALL},
}


def personal_in(spans: list[ReceivedSpan], found: dict[str, Any]) -> list[str]:
    """Return what *spans* tell of people, brand and domain of the search *found*."""
    text = " ".join(str((span.name, span.attributes)) for span in spans).lower()
    people = found["contacts"]
    names = [person[key] for person in people for key in ("full_name", "last_name", "email")]
    asked = [*names, found["brand"], found["domain"]]
    return [each for each in asked if each and each.lower() in text]
