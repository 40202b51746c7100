"""Spans are sent only where the operator says so, and say nothing of people."""

import sys

import pytest

from cs.settings import BadSettings, load
from harness.otlp import receiving, sending, traces_of

PLACE = f"00-{'4b' * 16}-{'0f' * 8}-01"


async def test_without_the_extra_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cs.assembly.otel_traces", None)
    settings = load(environment={"CS_TRACES_TO": "http://127.0.0.1:4318"})

    async with traces_of(load(environment={})):
        pass  # nothing of it is needed
    with pytest.raises(
        BadSettings, match=r"traces_to: .* pip install 'contact-search\[otel\]'"
    ):
        async with traces_of(settings):
            pass


def test_a_place_that_is_no_address_is_refused() -> None:
    with pytest.raises(BadSettings, match="traces_to: an address like"):
        load(environment={"CS_TRACES_TO": "localhost:4318"})


def test_what_is_raised_inside_marks_a_span_without_its_words() -> None:
    with receiving() as receiver:
        with (
            sending(receiver.url) as traces,
            pytest.raises(ValueError, match="ada"),
            traces.span("stage ranking", within=PLACE, attempt=1),
        ):
            raise ValueError("ada@acme.test is no address")
        (span,) = receiver.wait_for_all(1)

    assert "ValueError" in span.attributes["error.type"]
    assert "ada@" not in str(span)  # ids are hexadecimal, and may hold the letters
    assert span.trace == "4b" * 16


@pytest.mark.slow
def test_what_cannot_be_sent_is_dropped_and_logged_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # No process listens there.
    with sending("http://127.0.0.1:9") as traces, traces.span("settle", within=PLACE):
        pass

    assert capsys.readouterr().out.count("traces_not_sent") == 1
