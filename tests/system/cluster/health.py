"""What the roles of a cluster say of themselves on their admin ports."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx

from system.cluster.cluster import Cluster

#: A role that does not answer by then is told as one that does not.
ANSWER_S = 2.0


class Health(NamedTuple):
    """What ``/readyz`` of one role said."""

    ready: bool
    leads: bool | None  # None: this role has nothing to lead
    in_hand: int  # records that it works on


class Checkup:
    """Asks roles of *cluster* how they are, all at once."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._http = httpx.Client(timeout=ANSWER_S, trust_env=False)
        self._threads = ThreadPoolExecutor(8)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _: BaseException | None,
        __: TracebackType | None,
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._http.close()

    def ask(self, names: Iterable[str]) -> Mapping[str, Health | None]:
        """Return the health of the roles *names*; ``None`` for one that does not answer."""
        asked = list(names)
        return dict(zip(asked, self._threads.map(self._one, asked), strict=True))

    def _one(self, name: str) -> Health | None:
        try:
            port = self._cluster.admin_ports[name]
            answer = self._http.get(f"http://127.0.0.1:{port}/readyz")
        except httpx.TransportError:
            return None
        return understood(answer.json(), ready=answer.status_code == httpx.codes.OK)


def understood(told: dict[str, Any], *, ready: bool) -> Health:
    """Return what the body *told* of ``/readyz`` means.

    >>> understood({"ready": True, "leads": False}, ready=True)
    Health(ready=True, leads=False, in_hand=0)
    """
    bus = told.get("bus")
    read = bus["subscriptions"] if isinstance(bus, dict) else ()
    return Health(ready, told.get("leads"), sum(each["in_hand"] for each in read))
