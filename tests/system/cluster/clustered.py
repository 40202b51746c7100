"""A cluster as a caller and its operator see it: the same as a service in one process."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Self

import httpx

from system.cluster.cluster import Cluster

#: Longer than an answer is reused, and than what is known of a mail domain is believed.
MONTH_S = 31 * 86_400
#: A test erases a person of this brand, and no erased person is ever found again.
ERASED_FROM = "Kestrelle"


class Spreading(httpx.BaseTransport):
    """Sends each call to the next of *ports*, whatever port its address names."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = cycle(ports)
        self._http = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return self._http.handle_request(request)

    def close(self) -> None:
        self._http.close()


@dataclass
class Clustered:
    """A cluster as a caller and its operator have it.

    Calls of a client go to the nodes in turn.
    """

    cluster: Cluster

    @classmethod
    def fresh(cls, cluster: Cluster) -> Self:
        """Return it with every role running and nothing left to reuse: a month goes by."""
        cluster.start_missing()
        body = {"advance": MONTH_S}
        answer = httpx.post(f"{cluster.admin_url}/sandbox/clock", json=body, timeout=100)
        answer.raise_for_status()
        return cls(cluster)

    def new_key(self, quota: int = 10) -> dict[str, Any]:
        return self.cluster.new_key(quota)

    def client(self, key: dict[str, Any]) -> httpx.Client:
        return httpx.Client(
            base_url=self.cluster.urls[0],
            headers={"Authorization": f"Bearer {key['key']}"},
            timeout=130,
            transport=Spreading(list(self.cluster.ports.values())),
        )

    def command(self, *words: str) -> str:
        return self.cluster.command(*words)
