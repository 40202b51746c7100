from contextlib import suppress

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Line
from cs.verifiers.smtp.transcript import BYTES, GAP, LINE, Transcript, bounded
from verifiers.smtp.mail_world import Clock

lines = st.lists(
    st.builds(
        Line,
        at_ms=st.integers(-(10**7), 10**7),
        who=st.sampled_from("CS"),
        text=st.text(max_size=LINE),
    ),
    max_size=60,
)


@given(lines, st.integers(600, BYTES))
def test_lines_fit_whatever_they_are(many: list[Line], limit: int) -> None:
    kept = bounded(many, limit)

    assert sum(len(msgspec.json.encode(line)) + 1 for line in kept) <= limit
    if GAP not in kept:
        assert list(kept) == many


def test_times_are_since_the_first_line_that_is_kept_and_never_negative() -> None:
    clock = Clock()
    transcript = Transcript(clock)
    with transcript.shared():
        transcript.note("C", "probe")
    clock.seconds += 2
    transcript.begin()
    clock.seconds += 0.25
    transcript.note("S", "x" * 600)

    first, second = transcript.lines()

    assert (first.at_ms, first.text) == (0, "probe")
    assert (second.at_ms, len(second.text)) == (2_250, LINE)


def test_what_fails_is_not_kept() -> None:
    transcript = Transcript(Clock())

    with suppress(LookupError), transcript.shared():
        transcript.note("C", "probe")
        raise LookupError

    assert [line.text for line in transcript.lines()] == ["probe"]
    transcript.begin()
    assert transcript.lines() == ()
