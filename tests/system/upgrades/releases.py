"""Another release of the service in this process: the events that it writes and reads."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, cast

import pytest

from cs.domain import codec


@contextmanager
def release(
    writes: Mapping[str, type],
    upcasts: Mapping[str, codec.ReadOnlyVersion] = MappingProxyType({}),
) -> Iterator[None]:
    """Make all of this process another release, until left.

    Args:
        writes: The shapes that it writes besides those of today, by topic.
        upcasts: Topics of today that it only reads.
    """
    topics, also_read = cast("Any", codec.TOPICS), cast("Any", codec.ALSO_READ)
    with pytest.MonkeyPatch.context() as patch:
        for topic, version in upcasts.items():
            patch.delitem(topics, topic)
            patch.setitem(also_read, topic, version)
        for topic, shape in writes.items():
            patch.setitem(topics, topic, shape)
            patch.setitem(cast("Any", codec._TOPIC_OF), shape, topic)
        yield
