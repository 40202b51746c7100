"""Causes as they stand in the log: for ever, and next to what an event says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.bus.headers import answer_id
from cs.bus.topics import OUTCOMES
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import decode, encode
from cs.domain.stages.limits import check_outcome
from cs.domain.stages.work import Failed, Outcome
from cs.eventlog.stored_cause import cause_in, with_cause
from domain.golden_files import NAMES, golden, golden_event
from harness.every_row import check_every

#: Never edited, only added to: they are in somebody's log.
STORED: dict[bytes, AnyCause] = {
    b'{"kind":"request","id":"req_1","key":"key_1"}': RequestCause(id="req_1", key="key_1"),
    b'{"kind":"message","topic":"cs.outcomes.v1","id":"b.1/ranking//2/ranked","attempt":2}': (
        MessageCause(topic="cs.outcomes.v1", id="b.1/ranking//2/ranked", attempt=2)
    ),
    b'{"kind":"timer","timer":"deadline"}': TimerCause(timer="deadline"),
    b'{"kind":"timer","timer":"retry"}': TimerCause(timer="retry"),
    b'{"kind":"timer","timer":"silence"}': TimerCause(timer="silence"),
    b'{"kind":"timer","timer":"ageing"}': TimerCause(timer="ageing"),
    b'{"kind":"timer","timer":"mended"}': TimerCause(timer="mended"),
    b'{"kind":"operator","command":"keys create"}': OperatorCause(command="keys create"),
    b'{"kind":"operator","command":"pause","who":"ada"}': (
        OperatorCause(command="pause", who="ada")
    ),
    b'{"kind":"event","position":7}': EventCause(position=7),
    b'{"kind":"start"}': StartCause(),
}
CAUSES = st.one_of(
    st.builds(RequestCause, id=st.text(), key=st.text()),
    st.builds(MessageCause, topic=st.text(), id=st.text(), attempt=st.integers(1, 99)),
    st.builds(OperatorCause, command=st.text(), who=st.none() | st.text()),
    st.builds(EventCause, position=st.integers(1, 2**62)),
    st.sampled_from([*STORED.values()]),
)


@pytest.mark.parametrize(("stored", "cause"), STORED.items())
def test_every_kind_of_cause_is_stored_and_read_as_ever(stored: bytes, cause: AnyCause) -> None:
    state = b'{"at":"2026-01-01T00:00:00Z","caused_by":%b}' % stored

    assert with_cause(b'{"at":"2026-01-01T00:00:00Z"}', cause) == state
    assert cause_in(state) == cause


@given(st.sampled_from(NAMES), CAUSES)
def test_any_event_with_any_cause_is_read_as_both(name: str, cause: AnyCause) -> None:
    event = golden_event(name)

    state = with_cause(encode(event), cause)

    assert cause_in(state) == cause
    assert decode(golden(name).topic, state) == event, "who knows no causes reads it too"


def test_an_event_without_a_known_cause_is_stored_as_ever() -> None:
    def check(name: str) -> None:
        state = encode(golden_event(name))

        assert with_cause(state, None) == state
        assert cause_in(state) is None

    check_every(NAMES, check)


@pytest.mark.parametrize(
    "state",
    [
        b'{"at":1,"caused_by":{"kind":"of a later version","more":[1]}}',
        b'{"at":1,"caused_by":{"kind":"timer","timer":"of a later version"}}',
        b'{"at":1,"caused_by":null}',
        b'{"at":1,"caused_by":"somebody"}',
        b'{"at":1,"sources":{"web":"used","caused_by":"used"}}',
        b'{"at":1,"sources":{"web":"used","caused_by":{"kind":"start"}}}',
    ],
)
def test_what_is_no_cause_that_is_known_here_is_not_known(state: bytes) -> None:
    assert cause_in(state) is None


def test_a_cause_is_short_however_long_what_it_names_may_be() -> None:
    lookup, item = f"brand-{'a' * 64}.{'9' * 10}-{'b' * 64}", ".".join(["c" * 49] * 5)
    found = Failed(why="bug", retryable=False)
    outcome = Outcome(
        lookup=lookup, stage="verification", item=item, attempt=1_000, finding=found
    )
    check_outcome(outcome)

    stored = with_cause(
        b'{"at":1}', MessageCause(topic=OUTCOMES, id=answer_id(outcome), attempt=1_000)
    )

    assert len(stored) < 1_000
