from typing import Any

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.rcode
import pytest

from sandbox.small_world import Sandbox

#: A mail domain, and what a question for its MX records gets.
ANSWERS: list[tuple[dict[str, Any], dns.rcode.Rcode, list[str]]] = [
    ({}, dns.rcode.NOERROR, ["10 mx1.acme.test."]),
    (
        {"hosts": [{"name": "a.acme.test", "preference": 20}, {"name": "b.acme.test"}]},
        dns.rcode.NOERROR,
        ["10 b.acme.test.", "20 a.acme.test."],
    ),
    ({"mx": "null"}, dns.rcode.NOERROR, ["0 ."]),
    ({"mx": "none"}, dns.rcode.NOERROR, []),
    ({"dns": "servfail"}, dns.rcode.SERVFAIL, []),
    ({"dns": "refused"}, dns.rcode.REFUSED, []),
]


def texts(answer: dns.message.Message) -> list[str]:
    return sorted(str(record).casefold() for rrset in answer.answer for record in rrset)


@pytest.mark.parametrize(("mail", "rcode", "records"), ANSWERS)
async def test_mail_domain_has_its_exchangers_and_trouble_is_with_them_only(
    sandbox: Sandbox, mail: dict[str, Any], rcode: dns.rcode.Rcode, records: list[str]
) -> None:
    async with sandbox(mail=[{"domain": "acme.test", **mail}]) as world:
        exchangers = await world.ask("ACME.test", "MX")
        address = await world.ask("acme.test", "A")
        other = await world.ask("x.acme.test", "A")
        ipv6 = await world.ask("acme.test", "AAAA")

    assert (exchangers.rcode(), texts(exchangers)) == (rcode, records)
    assert exchangers.flags & dns.flags.AA
    assert texts(address)[0].startswith("127.")
    assert other.rcode() == dns.rcode.NXDOMAIN
    assert (ipv6.rcode(), texts(ipv6)) == (dns.rcode.NOERROR, [])


async def test_silence_is_no_answer_at_all(sandbox: Sandbox) -> None:
    async with sandbox(mail=[{"domain": "acme.test", "dns": "silent"}]) as world:
        host, port = world.addresses.dns.split(":")
        question = dns.message.make_query("acme.test", "MX")
        with pytest.raises(dns.exception.Timeout):
            await dns.asyncquery.udp(question, host, port=int(port), timeout=0.2)
