"""The topics, what each carries, and the bytes of its messages."""

import msgspec

from cs.domain.stage_work import Outcome, StageName, Work

OUTCOMES = "cs.outcomes.v1"
DEAD_LETTERS = "cs.dead-letters.v1"

#: The routing table: a stage is one row here, one topic and one class.
STAGE_TOPICS: dict[StageName, str] = {
    "brand-resolution": "cs.brand-resolution.v1",
    "contact-discovery": "cs.contact-discovery.v1",
    "ranking": "cs.ranking.v1",
    "verification": "cs.verification.v1",
}

#: What reading a message raises for bytes that are none: not JSON or another shape, not
#: UTF-8, nested too deeply.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_encoder = msgspec.json.Encoder()
_work = msgspec.json.Decoder(Work)
_outcome = msgspec.json.Decoder(Outcome)


def encode(message: Work | Outcome) -> bytes:
    return _encoder.encode(message)


def decode_work(value: bytes) -> Work:
    """Return the work in *value*.

    Raises:
        `UNREADABLE`: Not a message of a stage topic.
    """
    return _work.decode(value)


def decode_outcome(value: bytes) -> Outcome:
    """Return the outcome in *value*.

    Raises:
        `UNREADABLE`: Not a message of ``cs.outcomes``.
    """
    return _outcome.decode(value)


def work_key(work: Work) -> bytes:
    """Return the record key: the mail domain in verification, the lookup elsewhere.

    So that one worker owns a mail domain's politeness.
    """
    return (work.item or work.lookup).encode()
