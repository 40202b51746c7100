"""What is not even HTTP is answered by the web server, as the description says."""

import socket
from urllib.parse import urlsplit

from api.openapi_document import operation, responses
from harness.on_port import memory_service


def test_a_request_that_is_not_http_is_reported_as_described() -> None:
    described = responses(operation("get", "/openapi.json"))[400]["content"]["text/plain"]
    with memory_service(keys=0) as service:
        url = urlsplit(service.base_url)
        with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
            connection.sendall(b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\nno header\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))

    head, _, body = answer.decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    assert "content-type: text/plain" in head.lower()
    assert body == described["examples"]["uvicorn"]["value"]
