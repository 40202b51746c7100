"""TLS and users on a real broker, with the settings as the operator's page shows them."""

import asyncio
import logging
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bus.kafka.kafka_cases import Client, client_of, client_set_up
from contracts.bus import TOPIC, publish, take, values
from cs.bus.port import BusRefused, BusUnavailable
from harness.clients import certificates
from harness.servers.kafka import Kafka, running_kafka
from harness.servers.kafka_listeners import Listener, sasl, tls
from harness.servers.own_folder import own_folder

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "settings.md").read_text()
EXAMPLES = re.findall(
    r"^```sh\n# (.+)\n((?:CS_.*\n)+)```$",
    PAGE.partition("\n### TLS and users of Kafka\n")[2].partition("\n### ")[0],
    re.MULTILINE,
)
#: The listener that each example is for.
WAYS = {title.partition(":")[0]: lines for title, lines in EXAMPLES}
LISTENERS = {
    "SSL": "TLS",
    "SSL, and clients have to show a certificate too": "MUTUAL",
    "SASL_SSL with SCRAM": "BOTH",
    "SASL_SSL with PLAIN": "BOTH",
    "SASL_PLAINTEXT with SCRAM": "USERS",
}
USERS = {"cs": "correct-horse-battery"}
#: Nobody's, and distinct enough to be looked for.
WRONG = "pass-that-nobody-has"


@dataclass(frozen=True)
class SecuredKafka:
    """A broker with a port of every kind, and the files of a client of its."""

    kafka: Kafka
    files: dict[str, Path]
    stranger: Path  # an authority that signed nothing here

    def client(self, way: str, prefix: str = "", **other: object) -> Client:
        """Return the client that the page sets up for *way*, with this broker's files."""
        environment = dict(word.split("=", 1) for word in shlex.split(WAYS[way]))
        environment |= {name: str(f) for name, f in self.files.items() if name in environment}
        environment["CS_KAFKA"] = self.kafka.bootstrap_of(LISTENERS[way])
        environment["CS_KAFKA_PREFIX"] = prefix
        environment["CS_KAFKA_SESSION_TIMEOUT_S"] = "6"
        return client_set_up(environment).changed(**other)


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredKafka]:
    with own_folder() as folder:
        authority = certificates(folder)
        broker, client = folder / "broker.pem", folder / "client.pem"
        for file in (broker, client):
            file.write_bytes(authority.pem(["127.0.0.1"]))
        listeners = (
            Listener("TLS", "SSL", tls(broker)),
            Listener("MUTUAL", "SSL", tls(broker, authority.ca_file)),
            Listener("BOTH", "SASL_SSL", tls(broker) | sasl(["SCRAM-SHA-512", "PLAIN"], USERS)),
            Listener("USERS", "SASL_PLAINTEXT", sasl(["SCRAM-SHA-512"], USERS)),
        )
        files = {
            "CS_KAFKA_CA_FILE": authority.ca_file,
            "CS_KAFKA_CERTIFICATE_FILE": client,
            "CS_KAFKA_KEY_FILE": client,
        }
        elsewhere = folder / "elsewhere"
        elsewhere.mkdir()
        stranger = certificates(elsewhere).ca_file
        running = running_kafka(folder / "kafka", listeners=listeners, users=USERS)
        with running as kafka:
            yield SecuredKafka(kafka, files, stranger)


@contextmanager
def everything_said() -> Iterator[list[str]]:
    """Yield what goes to the log, the client's words included, however little they matter."""
    client = logging.getLogger("aiokafka")
    level = client.level
    client.setLevel(logging.DEBUG)
    said: list[str] = []
    try:
        with capture_logs() as lines:
            yield said
    finally:
        client.setLevel(level)
        said.extend(repr(line) for line in lines)


async def subscribe(client: Client) -> None:
    """Be a member for a moment; who has to wait for Kafka gives up."""
    async with (
        asyncio.timeout(30),
        client.bus() as bus,
        bus.subscribe(TOPIC, group="a"),
    ):
        pass


def test_the_page_has_an_example_for_every_kind_of_listener() -> None:
    assert WAYS.keys() == LISTENERS.keys()


@pytest.mark.parametrize("way", LISTENERS)
async def test_records_go_through_and_are_committed(
    secured: SecuredKafka, topic_prefix: str, way: str
) -> None:
    await client_of(secured.kafka.bootstrap, topic_prefix).make_topics()
    client = secured.client(way, topic_prefix)

    with everything_said() as said:
        async with client.bus() as bus:
            await publish(bus, b"1", b"2")
            async with bus.subscribe(TOPIC, group="a") as records:
                taken = await take(records, 2)
                measured = await bus.measure()
                await records.commit(taken[0])
        left = await client.lag(TOPIC, "a")

    assert (values(taken), left) == ([b"1", b"2"], {0: 1})
    assert (measured.reachable, measured.why) == (True, None)
    assert [line for line in said if USERS["cs"] in line] == []


async def test_a_wrong_password_is_reported_with_the_setting_and_without_the_password(
    secured: SecuredKafka,
) -> None:
    client = secured.client("SASL_SSL with SCRAM", password=WRONG)

    with everything_said() as said:
        with pytest.raises(BusRefused, match="kafka_password") as refused:
            await subscribe(client)
        async with client.bus() as bus:
            with pytest.raises(BusUnavailable):
                await publish(bus, b"1")
            measured = await bus.measure()
        with pytest.raises(BusRefused, match="kafka_password"):
            await client.topics_there(TOPIC)

    assert "refuses the user 'cs'" in str(refused.value)
    assert measured.why == str(refused.value)
    printed = [*said, str(refused.value), repr(refused.value.__cause__), repr(client)]
    assert [line for line in printed if WRONG in line] == []


async def test_a_certificate_that_is_not_trusted_is_reported_with_the_setting(
    secured: SecuredKafka,
) -> None:
    client = secured.client("SSL", ca_file=secured.stranger)

    with pytest.raises(BusRefused, match=r"not trusted.*: set kafka_ca_file"):
        await subscribe(client)


async def test_a_host_that_is_not_on_the_certificate_is_reported(secured: SecuredKafka) -> None:
    port = secured.kafka.bootstrap_of("TLS").rpartition(":")[2]
    client = secured.client("SSL", bootstrap_servers=(f"localhost:{port}",))

    with pytest.raises(BusRefused, match=r"ostname mismatch.*kafka to names on it"):
        await client.check()


async def test_a_missing_client_certificate_is_reported(
    secured: SecuredKafka,
) -> None:
    client = secured.client(
        "SSL, and clients have to show a certificate too", certificate_file=None, key_file=None
    )

    with pytest.raises(BusRefused, match="look at kafka_certificate_file and"):
        await client.check()


@pytest.mark.parametrize(
    ("way", "port", "reason"),
    [
        (
            "SASL_SSL with SCRAM",
            "TLS",
            "takes no SCRAM-SHA-512 on this port: look at kafka_sasl",
        ),
        ("SASL_PLAINTEXT with SCRAM", "BOTH", "something else than kafka_tls false, "),
        ("SSL", "USERS", "something else than kafka_tls true, kafka_sasl none"),
    ],
)
async def test_a_port_of_another_kind_is_reported(
    secured: SecuredKafka, way: str, port: str, reason: str
) -> None:
    servers = (secured.kafka.bootstrap_of(port),)

    with pytest.raises(BusUnavailable, match=reason):
        await secured.client(way, bootstrap_servers=servers).check()


async def test_a_mechanism_that_is_not_offered_is_reported(secured: SecuredKafka) -> None:
    client = secured.client("SASL_PLAINTEXT with SCRAM", sasl_mechanism="SCRAM-SHA-256")

    with pytest.raises(BusRefused, match="takes no SCRAM-SHA-256 on this port"):
        await client.check()
