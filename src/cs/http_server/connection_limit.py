"""How many connections a port has.

Uvicorn bounds none of it: sockets on which nothing is sent would use up the process's open
files, and with them its own calls, its databases' and its health checks.
"""

import asyncio
import resource
from pathlib import Path
from typing import Protocol

from structlog import get_logger

from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: The most open files that are asked for; a process needs a connection for each held call.
MOST_DESCRIPTORS = 65_536
#: Open files left to the admin port, to databases, brokers, mail servers and the web: half
#: of those that are not open yet, and no more than this.
MOST_RESERVED = 1_024
#: Connections of the admin port, out of that reserve.
ADMIN_CONNECTIONS = 64
#: Between two lines of the log about a full port.
LOG_EVERY_S = 10.0


class OnTransport(Protocol):
    """A connection."""

    transport: asyncio.Transport


def free_descriptors() -> int:
    """Allow this process as many open files as it may have; return how many are left."""
    return _raised() - len(list(Path("/proc/self/fd").iterdir()))


def _raised() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_DESCRIPTORS
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def connections_of(free: int) -> tuple[int, int]:
    """Return how many connections the API and the admin port may have of *free* open files.

    >>> [connections_of(free) for free in (100, 1_000, 65_000)]
    [(50, 12), (500, 64), (63976, 64)]
    """
    reserved = min(free // 2, MOST_RESERVED)
    return max(1, free - reserved), max(1, min(ADMIN_CONNECTIONS, reserved // 4))


class ConnectionLimit:
    """How many connections one port has, and which of them make no call.

    Args:
        most: How many it may have.
        port: Name of the port, for the log.
    """

    def __init__(self, most: int, port: str) -> None:
        self.most = most
        self._port = port
        #: Those without a call, the one without for longest first.
        self.idle: dict[OnTransport, None] = {}
        self.refusing = 0
        self._closed = self._refused = 0
        self._throttle = LogThrottle(LOG_EVERY_S)

    def make_room(self) -> bool:
        """Close the connection that has made no call for longest; false if all make one."""
        longest = next(iter(self.idle), None)
        self._closed += longest is not None
        self._refused += longest is None
        if self._throttle.allow() is not None:
            log.warning(
                "connections_full",
                port=self._port,
                most=self.most,
                closed=self._closed,
                refused=self._refused,
            )
            self._closed = self._refused = 0
        if longest is None:
            return False
        del self.idle[longest]
        longest.transport.abort()
        return True
