"""The topics, what each carries, and the bytes of its messages."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.resources import files
from typing import Any

import msgspec

from cs.domain.stages.limits import BeyondLimits, check_outcome, check_work
from cs.domain.stages.table import STAGES, WhenNeeded
from cs.domain.stages.work import Outcome, StageName, Work

OUTCOMES = "cs.outcomes.v1"
DEAD_LETTERS = "cs.dead-letters.v1"
#: The public feed of events, personal data sealed; no role reads it.
EVENTS = "cs.events.v1"

#: The topic of each stage (`cs.domain.stages.table`).
STAGE_TOPICS: Mapping[StageName, str] = WhenNeeded(
    lambda: {row.name: row.topic for row in STAGES.values()}
)

#: Bytes of a message: Kafka takes records of 1 MiB as it comes (``max.message.bytes``, and
#: aiokafka's ``max_request_size``), key and headers included.
MESSAGE_MAX = 1_000_000
#: Partitions of every topic: the most members that a group can put to work.
PARTITIONS = 12
#: The topics carry personal data in clear: they forget soon.
RETENTION = timedelta(hours=1)
#: Retention removes whole segments, never the one being written, so that one is short.
SEGMENT = timedelta(minutes=10)
#: The feed is sealed: it may remember for as long as a reader may stand still.
EVENTS_RETENTION = timedelta(days=7)
EVENTS_SEGMENT = timedelta(hours=12)


class TopicPlan(msgspec.Struct, frozen=True):
    """How one topic is to be on the brokers."""

    name: str  # without the operator's prefix
    retention: timedelta = RETENTION
    segment: timedelta = SEGMENT

    def configs(self, replication: int) -> Mapping[str, str]:
        """Return what is set on the topic, as Kafka calls it.

        >>> TopicPlan("t").configs(3)["min.insync.replicas"]
        '2'
        """
        return {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention // timedelta(milliseconds=1)),
            "segment.ms": str(self.segment // timedelta(milliseconds=1)),
            # Of three replicas one may be away; of two, none could.
            "min.insync.replicas": "2" if replication >= 3 else "1",
        }


class _Topics(Sequence[TopicPlan]):
    """Every topic, those of stages of packages too, which are loaded when it is first read."""

    @property
    def _plans(self) -> Sequence[TopicPlan]:
        names = (*STAGE_TOPICS.values(), OUTCOMES, DEAD_LETTERS)
        plans = [TopicPlan(name) for name in names]
        return [*plans, TopicPlan(EVENTS, EVENTS_RETENTION, EVENTS_SEGMENT)]

    def __getitem__(self, index: Any) -> Any:
        return self._plans[index]

    def __len__(self) -> int:
        return len(self._plans)


TOPICS = _Topics()


class PublicEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One message on ``cs.events``: an event as it is stored.

    Values about a person stand in ``state`` as ``{"sealed", "person", "box"}``.
    """

    position: int  # in the whole log, from 1
    stream: str
    version: int  # in the stream, from 0
    topic: str  # what happened: "brand.resolved.v1"
    state: msgspec.Raw


#: What reading a message raises for bytes that are none: not JSON or another shape, not
#: UTF-8, nested too deeply, or with values that no message may hold.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BeyondLimits)

_encoder = msgspec.json.Encoder()
_work = msgspec.json.Decoder(Work)
_outcome = msgspec.json.Decoder(Outcome)


def encode(message: Work | Outcome | PublicEvent) -> bytes:
    return _encoder.encode(message)


def decode_work(value: bytes) -> Work:
    """Return the work in *value*.

    Raises:
        `UNREADABLE`: Not a message of a stage topic.
    """
    work = _work.decode(value)
    check_work(work)
    return work


def decode_outcome(value: bytes) -> Outcome:
    """Return the outcome in *value*.

    Raises:
        `UNREADABLE`: Not a message of ``cs.outcomes``.
    """
    outcome = _outcome.decode(value)
    check_outcome(outcome)
    return outcome


def read_document() -> bytes:
    """Return the AsyncAPI document of the topics, which `dev/asyncapi` makes."""
    return files("cs.bus").joinpath("asyncapi.json").read_bytes()


def work_key(work: Work) -> bytes:
    """Return the record key: the item of a stage that has items, the lookup elsewhere.

    So that one worker owns a mail domain's politeness.
    """
    return (work.item or work.lookup).encode()
