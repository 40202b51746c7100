import logging

import pytest
from structlog.testing import capture_logs

from cs.bus.kafka.log import EVERY_S, KafkaLog

TROUBLE = 'Unable connect to "%s:%s": %s'


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def handler(seconds: Seconds) -> KafkaLog:
    return KafkaLog(seconds)


def say(handler: KafkaLog, message: str, *args: object) -> None:
    record = logging.LogRecord("aiokafka", logging.ERROR, "", 0, message, args, None)
    handler.handle(record)


def test_the_same_trouble_with_a_broker_is_told_once_in_ten_seconds(
    handler: KafkaLog, seconds: Seconds
) -> None:
    with capture_logs() as lines:
        for _ in range(20):
            say(handler, TROUBLE, "kafka", 9092, OSError("refused"))
            say(handler, TROUBLE, "kafka", 9093, OSError("refused"))
        seconds.now = EVERY_S
        say(handler, TROUBLE, "kafka", 9092, OSError("another reason"))

    assert [(line["said"].split('"')[1], line.get("left_out", 0)) for line in lines] == [
        ("kafka:9092", 0),
        ("kafka:9093", 0),
        ("kafka:9092", 19),
    ]
    assert {line["event"] for line in lines} == {"kafka_client"}
    assert {line["log_level"] for line in lines} == {"error"}


def test_another_trouble_is_told_at_once(handler: KafkaLog) -> None:
    with capture_logs() as lines:
        say(handler, TROUBLE, "kafka", 9092, "refused")
        say(handler, "Heartbeat failed for group %s", "a")

    assert len(lines) == 2
