"""The probe itself tells a service that answers from one that is stalled."""

import threading
from pathlib import Path

import pytest

from harness.served import served
from security.responsiveness import ANSWER_S, answering

pytestmark = pytest.mark.slow


def test_a_service_at_rest_is_fast_and_a_stalled_one_is_not(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        with answering(service) as at_rest:
            pass
        at_rest.assert_fast()

        with answering(service) as stalled:
            service.suspend()
            resumed = threading.Timer(4 * ANSWER_S, service.resume)
            resumed.start()
            resumed.join()
        with pytest.raises(AssertionError, match="s to answer"):
            stalled.assert_fast()
