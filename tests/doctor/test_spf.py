"""What an SPF record says of an address, by RFC 7208."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.doctor.spf import LOOKUPS, SpfResult, check_spf
from cs.outside.port import MailHosts
from cs.outside.resolver import DnsResolver
from verifiers.smtp.dns_server import Zone, dns_server

US, OTHER, SIX = "192.0.2.7", "198.51.100.9", "2001:db8::7"

#: Record, our address, and what comes of it.
RECORDS: list[tuple[str, str, SpfResult]] = [
    ("v=spf1 ip4:192.0.2.7 -all", US, "pass"),
    ("v=spf1 ip4:192.0.2.0/24 -all", US, "pass"),
    ("v=spf1 ip4:192.0.2.0/24 -all", OTHER, "fail"),
    ("V=SPF1 IP4:192.0.2.0/24 ~ALL", OTHER, "softfail"),
    ("v=spf1 ?all", US, "neutral"),
    ("v=spf1", US, "neutral"),
    ("v=spf1 -ip4:192.0.2.7 +all", US, "fail"),
    ("v=spf1 ip6:2001:db8::/32 -all", SIX, "pass"),
    ("v=spf1 ip6:2001:db8::/32 -all", US, "fail"),
    ("v=spf1 a -all", US, "pass"),
    ("v=spf1 a:web.test -all", OTHER, "pass"),
    ("v=spf1 a:web.test/24 -all", "198.51.100.200", "pass"),
    ("v=spf1 a/28//64 -all", "2001:db8::8", "pass"),
    ("v=spf1 a -all", "2001:db8::8", "fail"),
    ("v=spf1 mx -all", "203.0.113.25", "pass"),
    ("v=spf1 mx:nowhere.test -all", US, "fail"),
    ("v=spf1 include:friend.test -all", OTHER, "pass"),
    ("v=spf1 include:friend.test ~all", "203.0.113.1", "softfail"),
    ("v=spf1 include:none.test -all", US, "permerror"),
    ("v=spf1 redirect=friend.test", OTHER, "pass"),
    ("v=spf1 redirect=none.test", OTHER, "permerror"),
    ("v=spf1 redirect=friend.test ip4:192.0.2.7", US, "pass"),
    ("v=spf1 exp=why.test -all", US, "fail"),
    ("v=spf1 include:loop.test -all", US, "permerror"),
    ("v=spf1 ip4:300.1.1.1 -all", US, "permerror"),
    ("v=spf1 a/99 -all", US, "permerror"),
    ("v=spf1 nonsense -all", US, "permerror"),
    ("v=spf1 exists:%{i}.x.test -all", US, "unknown"),
    ("v=spf1 ip4:192.0.2.7 exists:%{i}.x.test -all", US, "pass"),
    ("v=spf1 include:%{d}.test -all", US, "unknown"),
    ("v=spf10 -all", US, "none"),
    ("something else", US, "none"),
    ("v=spf1 include:away.test -all", US, "temperror"),
]


@pytest.fixture
async def zone() -> AsyncIterator[Zone]:
    async with dns_server("127.77.53.3") as zone:
        zone.add("own.test", A=[US], AAAA=[SIX], MX=["5 mx.own.test."])
        zone.add("mx.own.test", A=["203.0.113.25"])
        zone.add("web.test", A=[OTHER])
        zone.add("friend.test", TXT=['"v=spf1 ip4:198.51." "100.0/24 -all"'])
        zone.add("none.test", TXT=['"v=verify nothing"'])
        zone.add("loop.test", TXT=['"v=spf1 include:loop.test -all"'])
        zone.trouble("away.test", "TXT", "SERVFAIL")
        yield zone


async def test_records(zone: Zone) -> None:
    dns, wrong = DnsResolver(zone.address, timeout_s=2.0), []
    zone.ttl = 0
    for record, address, expected in RECORDS:
        zone.add("own.test", TXT=[f'"{record}"'])
        if (found := await check_spf("own.test", address, dns)) != expected:
            wrong.append((record, address, expected, found))

    assert not wrong


async def test_two_records_are_an_error(zone: Zone) -> None:
    zone.add("own.test", TXT=['"v=spf1 +all"', '"v=spf1 -all"'])

    found = await check_spf("own.test", US, DnsResolver(zone.address, timeout_s=2.0))

    assert found == "permerror"


class Records:
    """Any records for any name; counts the questions."""

    def __init__(self, records: list[str]) -> None:
        self._records = records
        self.asked = 0

    async def texts(self, _name: str) -> tuple[str, ...]:
        self.asked += 1
        return (self._records[self.asked % len(self._records)],)

    async def addresses(self, _host: str) -> tuple[str, ...]:
        self.asked += 1
        return (OTHER, SIX)

    async def mail_hosts(self, _domain: str) -> MailHosts:
        self.asked += 1
        return MailHosts(hosts=tuple(f"mx{n}.test" for n in range(100)))

    async def names(self, _address: str) -> tuple[str, ...]:
        raise AssertionError


TERMS = st.sampled_from(
    ["a", "mx", "include:x.test", "redirect=x.test", "ip4:1.2.3.4", "-all", "mx:y.test/8", "?a"]
)
TEXTS = st.lists(TERMS, max_size=30).map(lambda terms: " ".join(["v=spf1", *terms]))


@given(st.lists(TEXTS | st.text(max_size=40), min_size=1, max_size=5), st.ip_addresses())
async def test_any_records_end_in_a_result_after_few_questions(
    records: list[str], address: object
) -> None:
    dns = Records(records)

    result = await check_spf("own.test", str(address), dns)

    assert result in {
        *("none", "pass", "fail", "softfail", "neutral", "temperror", "permerror", "unknown")
    }
    assert dns.asked <= 1 + LOOKUPS * 11
