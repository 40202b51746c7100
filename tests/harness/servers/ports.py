"""Ports of the loopback that are free at this moment."""

import random
import socket
from contextlib import ExitStack

#: Below those that systems take for connections of their own (Linux 32768 to 60999, RFC 6335
#: 49152 to 65535): of these a server that starts a moment later would often find one taken.
_PORTS = (15_000, 32_000)
#: What was found before, and may be listened on only some seconds later.
_found_before: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return *count* ports, none of them twice; another process may still be faster."""
    chance, found = random.SystemRandom(), list[int]()
    with ExitStack() as held:
        while len(found) < count:
            port, each = chance.randint(*_PORTS), held.enter_context(socket.socket())
            if port in _found_before:
                continue
            try:
                each.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
            _found_before.add(port)
    return found
