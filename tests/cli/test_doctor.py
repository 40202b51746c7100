"""`cs doctor`: against servers on loopback, as its settings name them."""

import asyncio
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path

import pytest

from cli.command import Here, Ran
from harness.servers.ports import free_ports
from outside.loopback_web import WebRequest, serve
from verifiers.smtp.dns_server import dns_server
from verifiers.smtp.smtp_servers import Script, people, smtp_server

pytestmark = pytest.mark.slow  # brokers and databases, and a command's imports

HELO = "mail.us.test"
Settings = dict[str, str]


async def _wikidata(_: WebRequest, writer: asyncio.StreamWriter) -> None:
    date = formatdate(usegmt=True)
    writer.write(f"HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
    await writer.drain()


@pytest.fixture
async def well(tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings in whose world everything is as it should be."""
    sees_us = "250 mx.big.test at your service, [192.0.2.7]"
    async with (
        dns_server("127.77.53.6") as zone,
        smtp_server(Script(people(), ehlo=sees_us), "127.77.25.45") as (_, port),
        serve(_wikidata, address="127.77.80.6") as web,
    ):
        for domain in ("gmail.com", "outlook.com"):
            zone.add(domain, MX=["5 mx.big.test."])
        zone.add("mx.big.test", A=["127.77.25.45"])
        zone.add(HELO, A=["192.0.2.7"])
        zone.add("7.2.0.192.in-addr.arpa", PTR=[f"{HELO}."])
        host, dns_port = zone.address
        yield {
            "CS_DNS": f"{host}:{dns_port}",
            "CS_ALLOW_NETWORKS": "127.77.0.0/16",
            "CS_SMTP_PORT": str(port),
            "CS_SMTP_HELO": HELO,
            "CS_SMTP_MAIL_FROM": f"check@{HELO}",
            "CS_WIKIDATA_URL": f"{web.url}/w/api.php",
            "CS_SEARXNG_URL": web.url,
            "CS_DATA_DIR": str(tmp_path / "data"),
        }


async def examined(here: Here, settings: Settings, *options: str) -> Ran:
    return await asyncio.to_thread(here, "doctor", *options, **settings)


async def test_all_is_well(here: Here, well: Settings) -> None:
    done = await examined(here, well, "--json")

    states = {row["check"]: row["state"] for row in done.rows}
    assert done.code == 0, done
    assert [row["said"] for row in done.rows if row["check"] == "own people"] == [
        "the directory has no people (cs directory import)"
    ]
    assert {"disk", "web", "clock", "DNS", "port 25", "HELO", "reverse DNS"} <= states.keys()
    assert set(states.values()) <= {"ok", "warning"}, done.rows  # the disk may be small


async def test_what_failed_is_reported_with_what_to_do(here: Here, well: Settings) -> None:
    (nobody,) = free_ports(1)
    spoiled = well | {
        "CS_SMTP_HELO": "localhost",
        "CS_WIKIDATA_URL": f"http://127.0.0.1:{nobody}/w/api.php",
        "CS_POSTGRES": f"postgresql://cs@127.0.0.1:{nobody}/cs",
        "CS_KAFKA": f"127.0.0.1:{nobody}",
    }

    done = await examined(here, spoiled)

    assert done.code == 1
    assert done.err == "cs: failed: database postgres, Kafka, web, HELO\n"
    assert "set smtp_helo to a host name" in done.out


async def test_a_database_and_brokers(
    here: Here, well: Settings, database: str, kafka: str, topic_prefix: str
) -> None:
    on = well | {"CS_POSTGRES": database, "CS_KAFKA": kafka, "CS_KAFKA_PREFIX": topic_prefix}

    before = {row["check"]: row for row in (await examined(here, on, "--json")).rows}
    await asyncio.to_thread(here, "db", "migrate", f"--service={database}")
    await asyncio.to_thread(here, "topics", "apply", "--partitions=1", **on)
    after = {row["check"]: row for row in (await examined(here, on, "--json")).rows}

    assert before["database postgres"]["advice"] == "run `cs db migrate`"
    assert before["Kafka"]["advice"] == "run `cs topics apply`"
    assert "its schema is this version's" in after["database postgres"]["said"]
    assert after["Kafka"]["state"] == "warning"  # one broker has them all


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--address=nowhere", "--address: an IP address, not 'nowhere'"),
        ("--mail-domain=a b", "--mail-domain: a host name, not 'a b'"),
    ],
)
def test_options_that_are_none(here: Here, option: str, message: str) -> None:
    assert here("doctor", option).error(2) == message


async def test_every_plug_in_is_listed_and_without_smtp_nobody_asks_for_its_name(
    here: Here, well: Settings
) -> None:
    hosted = well | {
        "CS_SMTP_HELO": "localhost",
        "CS_VERIFIERS": "hunter,kickbox",
        "CS_VERIFIERS__HUNTER__KEY": "s3cret-key",
    }

    done = await examined(here, hosted, "--json")

    states = {row["check"]: row["state"] for row in done.rows}
    assert done.code == 0, done
    assert states["verifier hunter"] == "ok"
    assert states["verifiers.kickbox"] == "warning"
    assert states["source wikidata"] == "ok"
    assert states["port 25"] == "not tried"
    assert "HELO" not in states
