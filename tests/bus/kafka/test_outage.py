import pytest
from structlog.testing import capture_logs

from cs.bus.kafka.availability import LOG_EVERY_S, Outage
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
def outage(seconds: Seconds) -> Outage:
    return Outage(seconds, topic="cs.ranking.v1")


def test_a_wait_is_logged_at_once_and_then_now_and_then(
    outage: Outage, seconds: Seconds
) -> None:
    with capture_logs() as lines:
        for _ in range(25):
            outage.report(BusUnavailable("nobody answers"))
            seconds.now += 1

    assert [line["for_s"] for line in lines] == [0, LOG_EVERY_S, 2 * LOG_EVERY_S]
    assert {(line["event"], line["log_level"]) for line in lines} == {("kafka_away", "warning")}
    assert {(line["why"], line["topic"]) for line in lines} == {
        ("nobody answers", "cs.ranking.v1")
    }


def test_the_end_of_a_wait_is_logged_once_and_the_next_wait_at_once(
    outage: Outage, seconds: Seconds
) -> None:
    with capture_logs() as lines:
        outage.end()
        outage.report(BusUnavailable("nobody answers"))
        seconds.now += 3
        outage.end()
        outage.end()
        outage.report(BusUnavailable("nobody answers"))

    assert [line["event"] for line in lines] == ["kafka_away", "kafka_back", "kafka_away"]
    assert (lines[1]["after_s"], lines[1]["log_level"], lines[2]["for_s"]) == (3, "info", 0)
