import msgspec
import pytest

from cs.bus.topics import (
    DEAD_LETTERS,
    EVENTS,
    OUTCOMES,
    STAGE_TOPICS,
    TOPICS,
    UNREADABLE,
    PublicEvent,
    decode_event,
    decode_outcome,
    decode_work,
    encode,
    work_key,
)
from cs.domain.brand.events import StageIssued
from cs.domain.stages.work import Work
from domain.golden_files import golden_event


def work_of(variant: str) -> Work:
    event = golden_event(f"brand.stage-issued.v1{variant}")
    assert isinstance(event, StageIssued)
    return Work(
        lookup=event.lookup,
        stage=event.stage,
        item=event.item,
        attempt=event.attempt,
        deadline_at=event.deadline_at,
        input=event.input,
    )


def test_a_field_of_a_newer_version_is_skipped() -> None:
    work = work_of("")

    assert decode_work(encode(work)[:-1] + b',"added_later":1}') == work


def test_every_topic_with_people_in_clear_is_planned_and_forgets_within_the_hour() -> None:
    in_clear = {*STAGE_TOPICS.values(), OUTCOMES, DEAD_LETTERS}

    assert {plan.name for plan in TOPICS} == in_clear | {EVENTS}
    for plan in TOPICS:
        configs = plan.configs(3)
        assert configs["cleanup.policy"] == "delete"
        assert (configs["retention.ms"] == "3600000") == (plan.name in in_clear)
        assert int(configs["segment.ms"]) <= int(configs["retention.ms"]) / 6


def test_an_event_is_read_as_it_was_written_and_its_state_is_not_touched() -> None:
    state = b'{"at":"2026-01-01T00:00:00.000000Z","units": 5}'
    event = PublicEvent(
        position=7, stream="key-a", version=0, topic="key.x.v1", state=msgspec.Raw(state)
    )

    assert state in encode(event)
    assert bytes(decode_event(encode(event)).state) == state


def test_verification_is_keyed_by_mail_domain_and_the_rest_by_lookup() -> None:
    assert work_key(work_of("+verification")) == b"acme.example"
    assert work_key(work_of("+ranking")) == work_of("+ranking").lookup.encode()


@pytest.mark.parametrize("value", [b"", b"\xff\xfe", b"null", b"{}", b'{"x":' + b"[" * 99_999])
def test_bytes_that_are_no_message_are_reported_as_such(value: bytes) -> None:
    for decode in (decode_work, decode_outcome, decode_event):
        with pytest.raises(UNREADABLE):
            decode(value)
