import time
from collections.abc import AsyncIterator

import pytest

from cs.outside.port import MailHosts, Resolver, Unreachable
from harness.clients import dns_resolver
from verifiers.smtp.dns_server import Trouble, Zone, dns_server

TROUBLES: list[Trouble] = ["SERVFAIL", "REFUSED", "SILENCE", "GARBAGE"]


@pytest.fixture
async def zone() -> AsyncIterator[Zone]:
    async with dns_server("127.77.53.2") as zone:
        yield zone


def resolver(zone: Zone, timeout_s: float = 10.0) -> Resolver:
    return dns_resolver(zone.address, timeout_s=timeout_s)


ACME = "acme.test"
#: Records of a domain, and where it takes mail.
MAIL: list[tuple[dict[str, list[str]], MailHosts]] = [
    (
        {"MX": ["20 b.acme.test.", "5 z.acme.test.", "20 A.acme.test."]},
        MailHosts(hosts=("z.acme.test", "a.acme.test", "b.acme.test")),
    ),
    ({"MX": ["0 ."], "A": ["127.0.0.9"]}, MailHosts(null_mx=True)),
    ({"MX": ["0 .", "10 mx.acme.test."]}, MailHosts(hosts=("mx.acme.test",))),
    ({"A": ["127.0.0.9"]}, MailHosts(hosts=(ACME,))),
    ({"AAAA": ["::1"]}, MailHosts(hosts=(ACME,))),
    ({"TXT": ['"hi"']}, MailHosts()),
]


async def test_records_say_where_a_domain_takes_mail(zone: Zone) -> None:
    for records, expected in MAIL:
        zone.records[ACME] = {}
        zone.add(ACME, **records)

        assert await resolver(zone).mail_hosts(ACME) == expected


@pytest.mark.parametrize("name", ["gone.test", "a..b", "x" * 64 + ".test"])
async def test_a_name_that_is_not_there(name: str, zone: Zone) -> None:
    asked = resolver(zone)

    assert await asked.mail_hosts(name) == MailHosts(exists=False)
    assert await asked.addresses(name) == ()


@pytest.mark.slow
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_no_usable_answer_is_not_an_absence(trouble: Trouble, zone: Zone) -> None:
    zone.add("acme.test", MX=["10 mx.acme.test."], A=["127.0.0.9"])
    for kind in ("MX", "A", "AAAA"):
        zone.trouble("acme.test", kind, trouble)

    asked = resolver(zone, timeout_s=0.4)
    for asking in (asked.mail_hosts, asked.addresses):
        with pytest.raises(Unreachable) as caught:
            await asking("acme.test")
        assert caught.value.why == "dns"


Records = dict[str, dict[str, list[str]]]
#: Records by name, troubles by type, and the addresses of acme.test; ``None``: no answer.
ADDRESSES: list[tuple[Records, dict[str, Trouble], tuple[str, ...] | None]] = [
    # One family is enough; with one missing and the other unknown there is no answer.
    ({ACME: {"A": ["127.0.0.9"]}}, {"AAAA": "SERVFAIL"}, ("127.0.0.9",)),
    ({ACME: {"TXT": ['"hi"']}}, {"AAAA": "SERVFAIL"}, None),
    # Other names are followed, unless they go round in a circle.
    ({ACME: {"CNAME": ["a.test."]}, "a.test": {"A": ["127.0.0.9"]}}, {}, ("127.0.0.9",)),
    ({ACME: {"CNAME": ["a.test."]}, "a.test": {"CNAME": [f"{ACME}."]}}, {}, None),
]


@pytest.mark.parametrize(("records", "troubles", "found"), ADDRESSES)
async def test_addresses_are_found_or_unknown(
    records: Records,
    troubles: dict[str, Trouble],
    found: tuple[str, ...] | None,
    zone: Zone,
) -> None:
    zone.records = records
    zone.troubles = {(ACME, kind): trouble for kind, trouble in troubles.items()}

    if found is None:
        with pytest.raises(Unreachable):
            await resolver(zone).addresses(ACME)
    else:
        assert await resolver(zone).addresses(ACME) == found


async def test_an_implicit_exchanger_whose_address_is_not_known_is_not_an_absence(
    zone: Zone,
) -> None:
    zone.add(ACME, TXT=['"hi"'])
    zone.trouble(ACME, "A", "SERVFAIL")

    with pytest.raises(Unreachable):
        await resolver(zone).mail_hosts(ACME)


async def test_a_truncated_answer_is_asked_for_again_over_tcp(zone: Zone) -> None:
    zone.add(ACME, MX=[f"{n} mx{n}.acme.test." for n in range(40)])
    zone.trouble(ACME, "MX", "TRUNCATED")

    assert len((await resolver(zone).mail_hosts(ACME)).hosts) == 40


async def test_a_literal_address_is_its_own(zone: Zone) -> None:
    assert await resolver(zone).addresses("127.0.0.9") == ("127.0.0.9",)
    assert await resolver(zone).addresses("::1") == ("::1",)
    assert not zone.asked


#: An answer is kept so long at most.
LONGEST_S = 300.0
#: Time to live, records, seconds until the name is asked for again, and questions sent.
REMEMBERED = [
    (60, 1, 0, 1),
    (0, 1, 1, 2),
    (3_600, 1, LONGEST_S - 2, 1),
    (3_600, 1, LONGEST_S + 1, 2),
    (60, 101, 0, 2),
]


@pytest.mark.parametrize("row", REMEMBERED)
async def test_an_answer_of_few_records_is_used_again_for_its_ttl_and_five_minutes_at_most(
    row: tuple[int, int, float, int], zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.ttl, records, later_s, asked = row
    zone.add("acme.test", MX=[f"{n} m{n}.test." for n in range(records)])
    now_s = time.time()
    resolving = dns_resolver(zone.address)

    await resolving.mail_hosts("acme.test")
    monkeypatch.setattr(time, "time", lambda: now_s + later_s)
    await resolving.mail_hosts("acme.test")

    assert zone.asked["acme.test", "MX"] == asked


async def test_trouble_is_not_remembered(zone: Zone) -> None:
    zone.add("acme.test", MX=["10 mx.acme.test."])
    zone.trouble("acme.test", "MX", "SERVFAIL")
    resolving = resolver(zone)

    with pytest.raises(Unreachable):
        await resolving.mail_hosts("acme.test")
    zone.troubles.clear()

    assert (await resolving.mail_hosts("acme.test")).hosts == ("mx.acme.test",)
