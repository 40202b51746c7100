"""Who we are to mail servers, asked of a real DNS server and a real mail server on loopback."""

from collections.abc import AsyncIterator
from ipaddress import IPv4Network

import msgspec
import pytest

from cs.doctor import DoctorFinding, SenderSettings, check_sender
from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from verifiers.smtp.dns_server import Zone, dns_server
from verifiers.smtp.smtp_servers import CLOSE, Script, ServerRecord, people, smtp_server

US, HELO = "192.0.2.7", "mail.us.test"
#: Our address backwards, as reverse DNS has it.
BACKWARDS = "7.2.0.192"
SEES_US = f"250-mx.big.test at your service, [{US}]\n250 SIZE 1000"


class Around:
    """Everything right: a test spoils one thing."""

    def __init__(self, zone: Zone, heard: ServerRecord, port: int) -> None:
        self.zone, self.heard, self.port = zone, heard, port

    async def found(self, **changes: object) -> dict[str, DoctorFinding]:
        sender = SenderSettings(HELO, self.port, ["big.test"])
        sender = msgspec.structs.replace(sender, **changes)
        dns = DnsResolver(self.zone.address, timeout_s=2.0)
        guard = Guard([IPv4Network("127.77.0.0/16")])
        return {each.check: each for each in await check_sender(sender, dns, guard)}


@pytest.fixture
async def around() -> AsyncIterator[Around]:
    script = Script(people(), ehlo=SEES_US)
    async with (
        dns_server("127.77.53.4") as zone,
        smtp_server(script, "127.77.25.40") as (heard, port),
    ):
        zone.add("big.test", MX=["5 mx.big.test."])
        zone.add("mx.big.test", A=["127.77.25.40"])
        zone.add(HELO, A=[US])
        zone.add(f"{BACKWARDS}.in-addr.arpa", PTR=[f"{HELO}."])
        yield Around(zone, heard, port)


async def test_all_is_well(around: Around) -> None:
    found = await around.found()

    assert {check: each.state for check, each in found.items()} == dict.fromkeys(
        ["port 25", "HELO", "reverse DNS"], "ok"
    )
    assert [each.advice for each in found.values()] == [None] * 3
    await around.heard.all_over()
    assert around.heard.commands == [f"EHLO {HELO}", "QUIT"], "they are only greeted"


async def test_what_is_wrong_is_reported_with_what_to_do(around: Around) -> None:
    zone = around.zone
    zone.add(HELO, A=["192.0.2.8"])
    zone.add(f"{BACKWARDS}.in-addr.arpa", PTR=["other.test."])

    found = await around.found()

    assert found["HELO"].said == f"{HELO} is 192.0.2.8, and mail servers see {US}"
    assert found["reverse DNS"].said == (f"{US} is called other.test, which is not {US} in DNS")
    del found["port 25"]
    assert {each.state for each in found.values()} == {"failed"}
    assert all(each.advice for each in found.values())


@pytest.mark.parametrize(("names", "state"), [([], "failed"), (["alias.us.test."], "warning")])
async def test_the_name_of_our_address_is_another(
    around: Around, names: list[str], state: str
) -> None:
    around.zone.add("alias.us.test", A=[US])
    around.zone.add(f"{BACKWARDS}.in-addr.arpa", PTR=names)

    found = await around.found()

    states = {check: each.state for check, each in found.items()}
    assert states == {"port 25": "ok", "HELO": "ok", "reverse DNS": state}


@pytest.mark.parametrize("helo", ["localhost", "worker-1", "laptop.local", "gone.test"])
async def test_a_name_that_is_not_ours_in_dns(around: Around, helo: str) -> None:
    found = await around.found(helo=helo)

    assert found["HELO"].state == "failed"
    assert "smtp_helo" in str(found["HELO"].advice)


async def test_port_25_is_closed_or_nobody_may_be_called(around: Around) -> None:
    around.zone.add("mx.big.test", A=["127.77.25.41"])  # nobody listens there

    found = await around.found()

    assert found["port 25"].state == "failed"
    assert found["port 25"].said == "no connection to 1 mail servers: mx.big.test: connect"
    assert found["reverse DNS"].state == "not tried"
    assert "--address" in str(found["reverse DNS"].advice)
    named = await around.found(address=US)
    assert {each.state for check, each in named.items() if check != "port 25"} == {"ok"}

    async with smtp_server(Script(people(), banner=CLOSE), "127.77.25.41", around.port):
        found = await around.found()
    assert found["port 25"].said.endswith("mx.big.test: closed"), "no SMTP behind it"

    around.zone.add("mx.big.test", A=["127.88.0.1"])  # which the guard forbids
    found = await around.found()
    assert found["port 25"].state == "not tried"
    assert "no address of a mail server that may be contacted" in found["port 25"].said


async def test_a_server_that_refuses_answers_all_the_same() -> None:
    script = Script(people(), banner=f"554 5.7.1 [{US}] is not welcome")
    async with (
        dns_server("127.77.53.5") as zone,
        smtp_server(script, "127.77.25.42") as (heard, port),
    ):
        zone.add("big.test", MX=["5 mx.big.test."])
        zone.add("mx.big.test", A=["127.77.25.42"])
        found = await Around(zone, heard, port).found()

    assert found["port 25"].state == "warning"
    assert "mx.big.test answers the connection by 554" in found["port 25"].said
    assert "mail servers see" not in found["HELO"].said
    assert found["HELO"].state == "failed"  # it has no address in this DNS


async def test_dns_does_not_answer(around: Around) -> None:
    for name, kind in [(HELO, "A"), (f"{BACKWARDS}.in-addr.arpa", "PTR")]:
        around.zone.trouble(name, kind, "SERVFAIL")
    around.zone.trouble(HELO, "AAAA", "SERVFAIL")

    found = await around.found()

    assert [found[check].state for check in ("HELO", "reverse DNS")] == ["not tried"] * 2
