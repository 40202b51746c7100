"""`cs doctor`: against servers on loopback, as its settings name them."""

import asyncio
import resource
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.command import Here, Ran
from harness.servers.ports import free_ports
from outside.loopback_web import WebRequest, serve
from verifiers.smtp.dns_server import Zone, dns_server
from verifiers.smtp.smtp_servers import CLOSE, Script, ServerRecord, people, smtp_server

pytestmark = pytest.mark.slow  # brokers and databases, and a command's imports

US, HELO = "192.0.2.7", "mail.us.test"
#: The address backwards, as reverse DNS has it.
POINTER = "7.2.0.192.in-addr.arpa"
SEES_US = f"250-mx.big.test at your service, [{US}]\n250 SIZE 1000"
SENDER = ("port 25", "HELO", "reverse DNS")
Row = dict[str, Any]


@dataclass
class World:
    """Everything as it should be: a test spoils one thing."""

    here: Here
    zone: Zone
    smtp: ServerRecord
    smtp_port: int
    settings: dict[str, str] = field(default_factory=dict)
    #: The time by the web; ``None``: it says none.
    date: str | None = ""

    async def wikidata(self, _: WebRequest, writer: asyncio.StreamWriter) -> None:
        date = formatdate(usegmt=True) if self.date == "" else self.date
        head = f"Date: {date}\r\n" if date is not None else ""
        writer.write(f"HTTP/1.1 200 OK\r\n{head}Content-Length: 2\r\n\r\n{{}}".encode())
        await writer.drain()

    async def doctor(self, *options: str, **more: str) -> Ran:
        return await asyncio.to_thread(
            self.here, "doctor", *options, width=200, **(self.settings | more)
        )

    async def found(self, *options: str, **more: str) -> dict[str, Row]:
        done = await self.doctor("--json", *options, **more)
        return {row["check"]: row for row in done.rows}


@pytest.fixture
async def world(tmp_path: Path, here: Here) -> AsyncIterator[World]:
    async with (
        dns_server("127.77.53.6") as zone,
        smtp_server(Script(people(), ehlo=SEES_US), "127.77.25.45") as (heard, port),
    ):
        made = World(here, zone, heard, port)
        async with serve(made.wikidata, address="127.77.80.6") as web:
            for domain in ("gmail.com", "outlook.com"):
                zone.add(domain, MX=["5 mx.big.test."])
            zone.add("mx.big.test", A=["127.77.25.45"])
            zone.add(HELO, A=[US])
            zone.add(POINTER, PTR=[f"{HELO}."])
            host, dns_port = zone.address
            made.settings = {
                "CS_DNS": f"{host}:{dns_port}",
                "CS_ALLOW_NETWORKS": "127.77.0.0/16",
                "CS_SMTP_PORT": str(port),
                "CS_SMTP_HELO": HELO,
                "CS_SMTP_MAIL_FROM": f"check@{HELO}",
                "CS_WIKIDATA_URL": f"{web.url}/w/api.php",
                "CS_SEARXNG_URL": web.url,
                "CS_DATA_DIR": str(tmp_path / "data"),
            }
            yield made


def states(found: dict[str, Row]) -> list[str]:
    """Return the states of the checks of the sender."""
    return [found[check]["state"] for check in SENDER]


async def test_all_is_well(world: World) -> None:
    done = await world.doctor("--json")

    found = {row["check"]: row for row in done.rows}
    assert done.code == 0, done
    assert found["own people"]["said"] == ("the directory has no people (cs directory import)")
    assert {"disk", "web", "clock", "DNS", *SENDER} <= found.keys()
    assert {row["state"] for row in done.rows} <= {"ok", "warning"}, "the disk may be small"
    assert states(found) == ["ok"] * 3
    assert [found[check]["advice"] for check in SENDER] == [None] * 3
    await world.smtp.all_over()
    assert world.smtp.commands == [f"EHLO {HELO}", "QUIT"], "they are only greeted"


async def test_what_failed_is_reported_with_what_to_do(world: World) -> None:
    (nobody,) = free_ports(1)

    done = await world.doctor(
        CS_SMTP_HELO="localhost",
        CS_WIKIDATA_URL=f"http://127.0.0.1:{nobody}/w/api.php",
        CS_POSTGRES=f"postgresql://cs:hunt/er2@127.0.0.1:{nobody}/cs",
        CS_KAFKA=f"127.0.0.1:{nobody}",
    )

    assert done.code == 1
    assert done.err == "cs: failed: database postgres, Kafka, web, HELO\n"
    assert "set smtp_helo to a host name" in done.out
    assert "er2" not in done.out, "a password is shown in no part"


async def test_a_database_and_brokers(
    here: Here, world: World, database: str, kafka: str, topic_prefix: str
) -> None:
    on = {"CS_POSTGRES": database, "CS_KAFKA": kafka, "CS_KAFKA_PREFIX": topic_prefix}

    before = await world.found(**on)
    await asyncio.to_thread(here, "db", "migrate", f"--service={database}")
    await asyncio.to_thread(here, "topics", "apply", "--partitions=1", **on)
    after = await world.found(**on)

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


async def test_every_plug_in_is_listed_and_without_smtp_its_name_is_not_asked_for(
    world: World,
) -> None:
    done = await world.doctor(
        "--json",
        CS_SMTP_HELO="localhost",
        CS_VERIFIERS="hunter,kickbox",
        CS_VERIFIERS__HUNTER__KEY="s3cret-key",
    )

    found = {row["check"]: row["state"] for row in done.rows}
    assert done.code == 0, done
    assert found["verifier hunter"] == "ok"
    assert found["verifiers.kickbox"] == "warning"
    assert found["source wikidata"] == "ok"
    assert found["port 25"] == "not tried"
    assert "HELO" not in found


async def test_what_mail_servers_see_of_us(world: World) -> None:
    zone = world.zone
    zone.add("alias.us.test", A=[US])
    zone.add(POINTER, PTR=["alias.us.test."])
    alias = await world.found()
    zone.add(POINTER, PTR=[])
    unnamed = await world.found()
    zone.add(HELO, A=["192.0.2.8"])
    zone.add(POINTER, PTR=["other.test."])
    other = await world.found()
    for name, kind in ((HELO, "A"), (HELO, "AAAA"), (POINTER, "PTR")):
        zone.trouble(name, kind, "SERVFAIL")
    silent = await world.found()

    assert states(alias) == ["ok", "ok", "warning"]
    assert states(unnamed) == ["ok", "ok", "failed"]
    assert states(other) == ["ok", "failed", "failed"]
    assert states(silent) == ["ok", "not tried", "not tried"]
    assert other["HELO"]["said"] == f"{HELO} is 192.0.2.8, and mail servers see {US}"
    assert other["reverse DNS"]["said"] == (
        f"{US} is called other.test, which is not {US} in DNS"
    )
    assert other["HELO"]["advice"]
    assert other["reverse DNS"]["advice"]


@pytest.mark.parametrize("helo", ["localhost", "worker-1", "laptop.local", "gone.test"])
async def test_a_name_that_is_not_ours_in_dns(world: World, helo: str) -> None:
    found = await world.found(CS_SMTP_HELO=helo)

    assert found["HELO"]["state"] == "failed"
    assert "smtp_helo" in found["HELO"]["advice"]


async def test_port_25_is_closed_or_no_server_may_be_called(world: World) -> None:
    one = "--mail-domain=gmail.com"
    world.zone.add("mx.big.test", A=["127.77.25.41"])  # nothing listens there
    closed, named = await world.found(one), await world.found(one, f"--address={US}")
    async with smtp_server(Script(people(), banner=CLOSE), "127.77.25.41", world.smtp_port):
        no_smtp = await world.found(one)
    banner = f"554 5.7.1 [{US}] is not welcome"
    async with smtp_server(Script(people(), banner=banner), "127.77.25.41", world.smtp_port):
        refusing = await world.found(one)
    world.zone.add("mx.big.test", A=["127.88.0.1"])  # which the guard forbids
    forbidden = await world.found(one)

    assert states(closed) == ["failed", "ok", "not tried"]
    assert closed["port 25"]["said"] == "no connection to 1 mail servers: mx.big.test: connect"
    assert "--address" in closed["reverse DNS"]["advice"]
    assert states(named) == ["failed", "ok", "ok"]
    assert no_smtp["port 25"]["said"].endswith("mx.big.test: closed")
    assert states(refusing) == ["warning", "ok", "ok"]
    assert "mx.big.test answers the connection by 554" in refusing["port 25"]["said"]
    assert forbidden["port 25"]["state"] == "not tried"
    assert "no address of a mail server that may be contacted" in forbidden["port 25"]["said"]


async def test_the_data_folder_its_room_and_open_files(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    inside, file, not_ours = [
        (await world.found(CS_DATA_DIR=str(folder)))["disk"]
        for folder in (tmp_path / "a" / "b", tmp_path / "file", "/proc/data")
    ]
    by_room = []
    for free_gib in (0.5, 5, 50):
        usage = SimpleNamespace(free=free_gib * 2**30)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        by_room.append((await world.found())["disk"]["state"])
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000, 1_000))
    files = (await world.found())["open files"]

    assert "GiB free" in inside["said"]
    assert file["state"] == "failed"
    assert not_ours["said"].startswith("/proc cannot be written: ")
    assert by_room == ["failed", "warning", "ok"]
    assert (files["state"], "ulimit -n 4096" in files["advice"]) == ("warning", True)


async def test_files_that_other_accounts_may_read(world: World, tmp_path: Path) -> None:
    closed, open_, gone = tmp_path / "closed", tmp_path / "open", tmp_path / "gone"
    for path, mode in ((closed, 0o600), (open_, 0o644)):
        path.write_bytes(b"k" * 32)
        path.chmod(mode)

    found = await world.found(
        CS_MASTER_KEY_FILE=str(closed),
        CS_STAGES_KEY_FILE=str(open_),
        CS_NEXT_MASTER_KEY_FILE=str(gone),
    )

    assert found["file master_key_file"]["state"] == "ok"
    assert found["file stages_key_file"]["state"] == "failed"
    assert found["file stages_key_file"]["advice"] == f"run: chmod 600 {open_}"
    assert "cannot be looked at: No such file" in found["file next_master_key_file"]["said"]


@pytest.mark.parametrize(
    ("off_s", "state", "said"),
    [
        (-3, "ok", "to within 5 s"),
        (-30, "warning", "s behind what"),
        (30, "warning", "s ahead of what"),
        (4_000, "failed", "s ahead of what"),
        (None, "not tried", "does not say what time it is"),
    ],
)
async def test_how_far_the_clock_is_off(
    world: World, off_s: int | None, state: str, said: str
) -> None:
    world.date = None
    if off_s is not None:
        world.date = formatdate(time.time() - off_s + 0.5, usegmt=True)

    clock = (await world.found())["clock"]

    assert (clock["state"], said in clock["said"]) == (state, True), clock
