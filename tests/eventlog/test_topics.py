"""How a topic of a newer version is told from damage."""

import pytest

from cs.domain.codec import ALSO_READ, TOPICS
from cs.eventlog.mapper import TOPIC


@pytest.mark.parametrize("topic", [*TOPICS, *ALSO_READ, "mail-domain.oauth2-learned.v12"])
def test_every_topic_looks_as_older_versions_expect(topic: str) -> None:
    assert TOPIC.fullmatch(topic)


@pytest.mark.parametrize(
    "topic", ["", "key", "key.issued", "key.issued.v0", "key.Issued.v1", "key.iss\ufffded.v1"]
)
def test_what_nobody_writes_is_no_topic(topic: str) -> None:
    assert not TOPIC.fullmatch(topic)
