"""An outside service of a plug-in, on loopback."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from cs.plugins.contracts.stand_in import Answer, handler


@contextmanager
def on_loopback(answer: Answer, port: int = 0) -> Iterator[str]:
    """Answer as *answer* says until left; yield where."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(answer))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
