"""Waits of the loop that no test sits through."""

import pytest


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once what the log or the bus refused."""
    for name in ("feed", "relay", "runner"):
        monkeypatch.setattr(f"cs.pipeline.{name}.RETRY_S", 0.001)
    monkeypatch.setattr("cs.pipeline.feed.MENDED_S", 0.001)
    monkeypatch.setattr("cs.eventlog.follow.RETRY_S", 0.001)
