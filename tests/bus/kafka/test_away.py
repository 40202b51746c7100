import pytest
from structlog.testing import capture_logs

from cs.bus.kafka.away import TELL_EVERY_S, Away
from cs.bus.port import BusUnavailable


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def away(seconds: Seconds) -> Away:
    return Away(seconds, topic="cs.ranking.v1")


def test_a_wait_is_told_at_once_and_then_now_and_then(away: Away, seconds: Seconds) -> None:
    with capture_logs() as lines:
        for _ in range(25):
            away.note(BusUnavailable("nobody answers"))
            seconds.now += 1

    assert [line["for_s"] for line in lines] == [0, TELL_EVERY_S, 2 * TELL_EVERY_S]
    assert {(line["event"], line["log_level"]) for line in lines} == {("kafka_away", "warning")}
    assert {(line["why"], line["topic"]) for line in lines} == {
        ("nobody answers", "cs.ranking.v1")
    }


def test_two_reasons_in_turn_are_told_no_more_often_each(away: Away, seconds: Seconds) -> None:
    with capture_logs() as lines:
        for _ in range(5):
            for why in ("nobody answers", "there is no topic"):
                away.note(BusUnavailable(why))
                seconds.now += 1

    assert [line["why"] for line in lines] == ["nobody answers", "there is no topic"]
    assert away.why == "there is no topic"


def test_the_end_of_a_wait_is_told_once_and_the_next_wait_at_once(
    away: Away, seconds: Seconds
) -> None:
    with capture_logs() as lines:
        away.over()
        away.note(BusUnavailable("nobody answers"))
        seconds.now += 3
        away.over()
        away.over()
        away.note(BusUnavailable("nobody answers"))

    assert [line["event"] for line in lines] == ["kafka_away", "kafka_back", "kafka_away"]
    assert (lines[1]["after_s"], lines[1]["log_level"], lines[2]["for_s"]) == (3, "info", 0)
