"""A cluster as a caller and its operator see it: the same as a service in one process."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

import asyncpg
import httpx

from system.cluster.cluster import Cluster
from system.cluster.spreading import Spreading

#: Longer than an answer is reused, and than what is known of a mail domain is believed.
MONTH_S = 31 * 86_400
#: Somebody of this brand is erased by a test, and nobody who was is ever found again.
ERASED_FROM = "Kestrelle"


@dataclass
class Clustered:
    """What `harness.served.Served` is of one process.

    Calls of a client go to the nodes in turn.
    """

    cluster: Cluster
    after: int  # the log's last position when the test began
    at_once_s: float = 35.0  # the clock moves in steps of five seconds while a lookup runs
    margin: timedelta = timedelta(seconds=20)  # the clock is moved only when the log is at rest

    @classmethod
    def fresh(cls, cluster: Cluster) -> Self:
        """Return it with every role running and nothing left to reuse: a month goes by."""
        cluster.start_missing()
        body = {"advance": MONTH_S}
        answer = httpx.post(f"{cluster.admin_url}/sandbox/clock", json=body, timeout=100)
        answer.raise_for_status()
        return cls(cluster, asyncio.run(_head(cluster)))

    @property
    def base_url(self) -> str:
        return self.cluster.urls[0]

    @property
    def urls(self) -> list[str]:
        return self.cluster.urls

    @property
    def clock_url(self) -> str:
        return f"{self.cluster.admin_url}/sandbox/clock"

    def new_key(self, quota: int = 10) -> dict[str, Any]:
        return self.cluster.new_key(quota)

    def client(self, key: dict[str, Any]) -> httpx.Client:
        return httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key['key']}"},
            timeout=130,
            transport=Spreading(list(self.cluster.ports.values())),
        )

    def command(self, *words: str) -> str:
        return self.cluster.command(*words)

    def stored_topics(self) -> list[str]:
        """Return the topics of the events since the test began, in order."""
        return asyncio.run(self.topics())

    async def topics(self) -> list[str]:
        """Return what `stored_topics` does, to a coroutine."""
        connection = await asyncpg.connect(self.cluster.postgres.dsn_of("service"))
        try:
            rows = await connection.fetch(_TOPICS, self.after)
        finally:
            await connection.close()
        return [row["topic"] for row in rows]

    def kill(self) -> None:
        """Kill every role at once; the servers and the world run on."""
        for role in self.cluster.roles.values():
            role.kill()

    def start(self) -> None:
        """Start every role again."""
        self.cluster.start_missing()


async def _head(cluster: Cluster) -> int:
    connection = await asyncpg.connect(cluster.postgres.dsn_of("service"))
    try:
        head: int = await connection.fetchval(
            "SELECT COALESCE(max(notification_id), 0) FROM stored_events"
        )
    finally:
        await connection.close()
    return head


_TOPICS = """
SELECT topic FROM stored_events WHERE notification_id > $1 ORDER BY notification_id
"""
