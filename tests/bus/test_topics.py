from datetime import UTC, datetime

import pytest

from cs.bus.topics import (
    DEAD_LETTERS,
    OUTCOMES,
    STAGE_TOPICS,
    TOPICS,
    UNREADABLE,
    TopicPlan,
    decode_outcome,
    decode_work,
    encode,
    work_key,
)
from cs.domain.brand_events import StageIssued
from cs.domain.stage_work import Alive, Outcome, Work
from domain.golden_files import golden_event

AT = datetime(2026, 1, 1, tzinfo=UTC)
VARIANTS = ["", "+discovery", "+ranking", "+verification"]


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


@pytest.mark.parametrize("variant", VARIANTS)
def test_work_is_read_as_it_was_written(variant: str) -> None:
    assert decode_work(encode(work_of(variant))) == work_of(variant)


def test_an_outcome_is_read_as_it_was_written() -> None:
    outcome = Outcome(lookup="brand-a.1", stage="ranking", attempt=2, finding=Alive())

    assert decode_outcome(encode(outcome)) == outcome


def test_a_field_of_a_newer_version_is_skipped() -> None:
    work = work_of("")

    assert decode_work(encode(work)[:-1] + b',"added_later":1}') == work


def test_every_stage_has_a_topic_of_its_own_that_names_its_version() -> None:
    assert len(set(STAGE_TOPICS.values())) == 4
    assert all(topic == f"cs.{stage}.v1" for stage, topic in STAGE_TOPICS.items())


def test_every_topic_that_is_spoken_is_planned_and_forgets_within_the_hour() -> None:
    spoken = {*STAGE_TOPICS.values(), OUTCOMES, DEAD_LETTERS}

    assert {plan.name for plan in TOPICS} == spoken
    for plan in TOPICS:
        assert plan.configs(3)["cleanup.policy"] == "delete"
        assert plan.configs(3)["retention.ms"] == "3600000"
        assert int(plan.configs(3)["segment.ms"]) <= 3_600_000


@pytest.mark.parametrize(("replicas", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (4, "2")])
def test_one_replica_may_be_away_where_there_are_three(replicas: int, in_sync: str) -> None:
    assert TopicPlan("t").configs(replicas)["min.insync.replicas"] == in_sync


def test_verification_is_keyed_by_mail_domain_and_the_rest_by_lookup() -> None:
    assert work_key(work_of("+verification")) == b"acme.example"
    assert work_key(work_of("+ranking")) == work_of("+ranking").lookup.encode()


@pytest.mark.parametrize("value", [b"", b"\xff\xfe", b"null", b"{}", b'{"x":' + b"[" * 99_999])
def test_bytes_that_are_no_message_are_told_as_such(value: bytes) -> None:
    for decode in (decode_work, decode_outcome):
        with pytest.raises(UNREADABLE):
            decode(value)
