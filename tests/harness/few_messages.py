"""A pytest plug-in: a worker of pytest-xdist says of a test that passed what somebody reads.

It sends six messages a test, each written and read value by value in Python: that it starts,
how its set-up, its call and its teardown went, that it has ended, that the next may come.  For
most tests that takes longer than they do.  Nobody reads that one starts and has ended, nor of
its set-up and its teardown if they went well, but how long they took if that was long.
"""

from collections.abc import Callable
from typing import Any

import pytest

_UNREAD = {"logstart", "logfinish"}
#: A set-up or teardown that took as long is told, for ``--durations``.
_LONG_S = 0.1


def pytest_sessionstart(session: pytest.Session) -> None:
    for plugin in session.config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":  # execnet runs its module under no name
            plugin.sendevent = _sparing(plugin.sendevent)


def _sparing(send: Callable[..., None]) -> Callable[..., None]:
    def sendevent(name: str, **values: Any) -> None:
        if name not in _UNREAD and not (name == "testreport" and _is_unread(values["data"])):
            send(name, **values)

    return sendevent


def _is_unread(report: dict[str, Any]) -> bool:
    """Return whether *report* is of a set-up or a teardown that went well and took no time."""
    if report["when"] == "call" or report["outcome"] != "passed":
        return False
    took_s: float = report["duration"]
    return took_s < _LONG_S
