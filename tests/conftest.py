import asyncio
import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec

import pytest
import structlog
import uvloop
from hypothesis import settings

pytest_plugins = [
    "harness.collecting",
    "harness.files_in_memory",
    "harness.forked_process",
    "harness.here",
    "harness.ordering",
    "harness.servers.missing",
    "harness.servers.shared",
    "harness.servers.fixtures",
    "harness.places",
    "system.cluster.fixtures",
]

# How long an example takes says how busy the machine is; budgets have tests of their own.
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")
# Of `make test-fast`.  A test with a number of its own takes a share of the profile's.
settings.register_profile("inner loop", settings(max_examples=6))

# Rich would draw each traceback that is logged with the source around every frame, 60 ms of
# processor apiece.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

# httpcore tries to import it several times a call, and looks through the whole path in vain.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# Unbuffered, Python would hide what a command forgets to flush.
os.environ.pop("PYTHONUNBUFFERED", None)

# Ignored where tests run in the background; whatever they start would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)


class ServedLoop(uvloop.Loop):
    """uvloop, which reports what a test left open.

    By itself it hangs on closing: where warnings are errors, the one about an open handle
    keeps it from closing that handle, whose end it waits for.
    """

    def close(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            super().close()
        left = [str(each.message) for each in caught if _OF_UVLOOP not in str(each.message)]
        assert left == []


_OF_UVLOOP = "<UDPTransport "  # as in pyproject.toml


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    # Each on the loop that the roles of its kind run on (`cs.cli.roles`);
    # `asyncio.run` in a test takes asyncio's.
    on_kafka = {"kafka", "own_kafka"} & set(getattr(item, "fixturenames", ()))
    return {"as served": asyncio.new_event_loop if on_kafka else ServedLoop}
