"""The whole service over several processes: a search through every one of them is one trace."""

from typing import Any

import pytest

from cs.domain.stages.table import OWN_STAGES
from harness.otlp import ReceivedSpan, Receiver, parents_of
from system.cluster.clustered import Clustered

pytestmark = pytest.mark.slow

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


def test_a_search_goes_through_every_role_and_is_one_trace(
    clustered: Clustered, receiver: Receiver
) -> None:
    receiver.spans.clear()
    with clustered.client(clustered.new_key()) as http:
        found = http.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        again = http.get(f"/searches/{found['id']}").json()
    spans = receiver.wait_for(*WHOLE_TRACE)

    assert again == found
    assert (found["status"], len(found["contacts"])) == ("done", 4), found
    assert parents_of(spans) == WHOLE_TRACE
    assert personal_in(spans, found) == []
    assert {span.role for span in spans} == {
        *("api", "relay", "process-manager"),
        *(f"stage {name}" for name in OWN_STAGES),
    }
