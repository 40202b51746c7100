import asyncio

from structlog.testing import capture_logs

from cs.assembly.shared_settings import (
    InsecureReadiness,
    insecure_connections,
    log_insecure_connections,
)
from cs.settings import Settings

ELSEWHERE = Settings(
    postgres="postgresql://cs@db.internal,127.0.0.1/cs",
    keys_postgres="postgresql://cs@127.0.0.1/keys",
    kafka=("kafka-1:9092", "[::1]:9092"),
    insecure_postgres=True,
    insecure_kafka=True,
)
CONNECTIONS = {"postgres": ("db.internal",), "kafka": ("kafka-1:9092",)}


class AsReady:
    def __init__(self, *, ready: bool) -> None:
        self._ready = ready

    async def check(self) -> tuple[bool, dict[str, object]]:
        return self._ready, {"ready": self._ready}


def test_what_is_reached_in_clear_is_named_by_its_setting() -> None:
    assert insecure_connections(ELSEWHERE, "live") == CONNECTIONS
    assert insecure_connections(ELSEWHERE, "sandbox") == {}
    assert insecure_connections(Settings(), "live") == {}


async def test_readiness_mentions_it_and_is_as_it_was() -> None:
    for ready in (True, False):
        role = AsReady(ready=ready)

        assert await InsecureReadiness(role, CONNECTIONS).check() == (
            ready,
            {"ready": ready, "insecure": CONNECTIONS},
        )
        assert await InsecureReadiness(role, {}).check() == (ready, {"ready": ready})


async def test_the_log_keeps_mentioning_it() -> None:
    with capture_logs() as lines:
        async with asyncio.timeout(5), log_insecure_connections(CONNECTIONS, every_s=0.001):
            while len(lines) < 4:  # noqa: ASYNC110  lines come without telling
                await asyncio.sleep(0)

    assert lines[2:4] == lines[:2]
    assert [line["event"] for line in lines[:2]] == ["insecure_connection"] * 2
    assert [(line["setting"], line["hosts"]) for line in lines[:2]] == [
        ("postgres", ["db.internal"]),
        ("kafka", ["kafka-1:9092"]),
    ]
