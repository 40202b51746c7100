"""Causes as they stand in the log: for ever, and next to what an event says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.event_log import units
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent, encode
from cs.eventlog.port import NO_STREAM, Append, EventLog
from domain.golden_files import NAMES, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

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


async def kept(event: AnyEvent, cause: AnyCause | None) -> tuple[MemoryEventLog, bytes]:
    """Return a log with *event*, and how it stands there."""
    log = MemoryEventLog(MemoryKeyStore())
    await log.append([Append("brand-a", NO_STREAM, [event], cause)])
    (stored,) = await log.stored(0)
    return log, stored.state


async def found(log: EventLog) -> tuple[AnyEvent, AnyCause | None]:
    (recorded,) = await log.tail(0)
    return recorded.event, recorded.caused_by


GRANT = units(1)[0]


@pytest.mark.parametrize(("stored", "cause"), STORED.items())
async def test_every_kind_of_cause_is_stored_and_read_as_ever(
    stored: bytes, cause: AnyCause
) -> None:
    log, state = await kept(GRANT, cause)

    assert state == encode(GRANT)[:-1] + b',"caused_by":%b}' % stored
    assert await found(log) == (GRANT, cause)


@given(st.sampled_from(NAMES), CAUSES)
async def test_any_event_with_any_cause_is_read_as_both(name: str, cause: AnyCause) -> None:
    event = golden_event(name)

    log, _ = await kept(event, cause)

    assert await found(log) == (event, cause)


async def test_an_event_without_a_known_cause_is_stored_as_ever() -> None:
    log, state = await kept(GRANT, None)

    assert state == encode(GRANT)
    assert await found(log) == (GRANT, None)


@pytest.mark.parametrize(
    "cause",
    [
        b',"caused_by":{"kind":"of a later version","more":[1]}',
        b',"caused_by":{"kind":"timer","timer":"of a later version"}',
        b',"caused_by":null',
        b',"caused_by":"somebody"',
        b',"sources":{"web":"used","caused_by":"used"}',
        b',"sources":{"web":"used","caused_by":{"kind":"start"}}',
    ],
)
async def test_what_is_no_cause_that_is_known_here_is_not_known(cause: bytes) -> None:
    log, state = await kept(GRANT, None)
    log.spoil(1, state[:-1] + cause + b"}")

    assert await found(log) == (GRANT, None)
