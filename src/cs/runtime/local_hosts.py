"""Whether a host is this machine, so that what is sent there never crosses a network."""

from ipaddress import ip_address


def is_local(host: str) -> bool:
    """Return whether *host* is a socket in a folder, a loopback address or ``localhost``.

    Every other name counts as elsewhere, whatever it resolves to today.

    >>> [is_local(host) for host in ("/run/postgresql", "127.8.0.1", "::1", "localhost")]
    [True, True, True, True]
    >>> [is_local(host) for host in ("db.internal", "127.1", "0.0.0.0", "localhost.example")]
    [False, False, False, False]
    """
    if host.startswith("/") or host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
