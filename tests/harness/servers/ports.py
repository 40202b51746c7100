"""Ports of the loopback that are free at this moment."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Return *count* different ports; another process may still be faster to take one."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
