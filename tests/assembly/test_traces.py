"""Spans are sent only where the operator says so, and say nothing of people."""

import sys

import pytest

from cs.assembly.otel_traces import OtelTraces
from cs.assembly.process import open_traces
from cs.bus.headers import root_place
from cs.metrics.traces import NO_TRACES
from cs.settings import BadSettings, Settings, load
from harness.otlp import receiving


async def test_nothing_is_loaded_or_sent_unless_a_place_is_named() -> None:
    async with open_traces(Settings(), "api") as traces:
        assert traces is NO_TRACES


async def test_without_the_extra_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cs.assembly.otel_traces", None)
    settings = load(environment={"CS_TRACES_TO": "http://127.0.0.1:4318"})

    with pytest.raises(
        BadSettings, match=r"traces_to: .* pip install 'contact-search\[otel\]'"
    ):
        async with open_traces(settings, "api"):
            pass


def test_a_place_that_is_no_address_is_refused() -> None:
    with pytest.raises(BadSettings, match="traces_to: an address like"):
        load(environment={"CS_TRACES_TO": "localhost:4318"})


def test_what_is_raised_inside_marks_a_span_without_its_words() -> None:
    with receiving() as receiver:
        traces = OtelTraces(receiver.url, "api")
        with (
            pytest.raises(ValueError, match="ada"),
            traces.span("stage ranking", within=root_place("brand-a.1"), attempt=1),
        ):
            raise ValueError("ada@acme.test is no address")
        traces.close()
        (span,) = receiver.wait_for_all(1)

    assert "ValueError" in span.attributes["error.type"]
    assert "ada@" not in str(span)  # ids are hexadecimal, and may hold the letters
    assert span.trace == root_place("brand-a.1").split("-")[1]


@pytest.mark.slow
def test_what_cannot_be_sent_is_dropped_and_logged_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    traces = OtelTraces("http://127.0.0.1:9", "api")  # nobody listens there
    with traces.span("settle", within=root_place("brand-a.1")):
        pass
    traces.close()

    assert capsys.readouterr().out.count("traces_not_sent") == 1
