"""A connection through a SOCKS5 server (RFC 1928), where port 25 is closed on this machine."""

import socket

from cs.verifiers.smtp.errors import ConnectionFailed

#: RFC 1928, section 6: what became of the connection beyond the proxy. 1 is "general failure",
#: which is what many answer to a time-out there.
_BEYOND = frozenset({1, 3, 4, 5, 6})


async def connect_through(proxy: str, address: str, port: int) -> socket.socket:
    """Return a connection to *address*, an IP address, through the server at *proxy*.

    Raises:
        ConnectionFailed: ``connect``: *address* does not answer; ``proxy``: the proxy itself,
            or it will not have us.
    """
    # Needed where there is a proxy only.
    from python_socks import ProxyConnectionError, ProxyError  # noqa: PLC0415
    from python_socks.async_.asyncio import Proxy  # noqa: PLC0415

    try:
        return await Proxy.from_url(proxy, rdns=False).connect(address, port)
    except ProxyConnectionError as error:
        raise ConnectionFailed("proxy") from error
    except ProxyError as error:
        why = "connect" if error.error_code in _BEYOND else "proxy"
        raise ConnectionFailed(why) from error
    except OSError as error:  # it went away in the middle
        raise ConnectionFailed("proxy") from error
