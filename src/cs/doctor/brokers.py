"""Kafka: whether brokers answer, and have our topics."""

import logging

from cs.bus.errors import BusUnavailable, CannotApply
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.topics import describe
from cs.bus.topics import TOPICS
from cs.doctor.finding import DoctorFinding


async def check_brokers(on: KafkaSettings) -> DoctorFinding:
    """Return whether Kafka can be used as *on* says."""
    check = "Kafka"
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters is in the finding
    try:
        states = await describe(on, TOPICS)
    except (BusUnavailable, CannotApply) as error:
        advice = "see that brokers run, and that the settings kafka... are theirs"
        return DoctorFinding(check, "failed", str(error), advice)
    there = {state.name for state in states}
    missing = sorted({on.on_broker(plan.name) for plan in TOPICS} - there)
    if missing:
        said = f"topics are missing: {', '.join(missing)}"
        return DoctorFinding(check, "failed", said, "run `cs topics apply`")
    if any(state.replication < 2 for state in states):
        said = f"{len(states)} topics, some on one broker only"
        advice = "a broker that is lost takes them along: replicate them to 3"
        return DoctorFinding(check, "warning", said, advice)
    return DoctorFinding(check, "ok", f"brokers answer and have the {len(states)} topics")
