"""Spans of a service in one process, as a collector gets them."""

from pathlib import Path

import pytest

from harness.otlp import parents_of, receiving
from harness.served import served
from system.whole_trace import WHOLE_TRACE, personal_in


@pytest.mark.slow
def test_a_search_in_one_process_is_one_trace_from_its_call_to_its_settlement(
    tmp_path: Path,
) -> None:
    with receiving() as receiver, served(tmp_path / "data", CS_TRACES_TO=receiver.url) as cs:
        with cs.client(cs.new_key()) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
            client.post("/contacts", json={"brand": "Veltrana"})  # from reuse: no span
        spans = receiver.wait_for(*WHOLE_TRACE)

    assert found["status"] == "done"
    assert parents_of(spans) == WHOLE_TRACE
    assert personal_in(spans, found) == []
    assert sum(span.name == "POST /v1/contacts" for span in spans) == 1
