from structlog.testing import capture_logs

from cs.admin.health import Readiness
from cs.assembly.shared_settings import insecure_connections, insecure_role
from cs.settings import Settings

ELSEWHERE = Settings(
    postgres="postgresql://cs@db.internal,127.0.0.1/cs",
    keys_postgres="postgresql://cs@127.0.0.1/keys",
    kafka=("kafka-1:9092", "[::1]:9092"),
    insecure_postgres=True,
    insecure_kafka=True,
)
CONNECTIONS = {"postgres": ("db.internal",), "kafka": ("kafka-1:9092",)}


def test_what_is_reached_in_clear_is_named_by_its_setting() -> None:
    assert insecure_connections(ELSEWHERE, "live") == CONNECTIONS
    assert insecure_connections(ELSEWHERE, "sandbox") == {}
    assert insecure_connections(Settings(), "live") == {}


async def test_readiness_mentions_it_and_is_as_it_was() -> None:
    assert await Readiness(insecure=CONNECTIONS).check() == (
        True,
        {"ready": True, "insecure": CONNECTIONS},
    )
    assert await Readiness().check() == (True, {"ready": True})


def test_the_log_mentions_it_at_the_start() -> None:
    with capture_logs() as lines:
        assert insecure_role(ELSEWHERE, "live") == CONNECTIONS

    assert [(line["event"], line["setting"], line["hosts"]) for line in lines] == [
        ("insecure_connection", "postgres", ["db.internal"]),
        ("insecure_connection", "kafka", ["kafka-1:9092"]),
    ]
