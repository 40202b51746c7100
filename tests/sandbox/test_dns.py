import socket

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import pytest

from cs.sandbox.dns import Zone
from sandbox.small_world import Sandbox


def texts(answer: dns.message.Message) -> list[str]:
    return sorted(str(record).casefold() for rrset in answer.answer for record in rrset)


async def test_mail_domain_names_its_exchangers_with_preference(sandbox: Sandbox) -> None:
    hosts = [{"name": "a.acme.test", "preference": 20}, {"name": "b.acme.test"}]
    async with sandbox(mail=[{"domain": "acme.test", "hosts": hosts}]) as world:
        answer = await world.ask("ACME.test", "MX")

    assert texts(answer) == ["10 b.acme.test.", "20 a.acme.test."]
    assert answer.flags & dns.flags.AA


async def test_undescribed_domain_has_one_exchanger(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        assert texts(await world.ask("acme.test", "MX")) == ["10 mx1.acme.test."]


async def test_null_mx_is_one_record_that_names_the_root(sandbox: Sandbox) -> None:
    async with sandbox(mail=[{"domain": "acme.test", "mx": "null"}]) as world:
        assert texts(await world.ask("acme.test", "MX")) == ["0 ."]


async def test_domain_without_mx_answers_with_nothing_and_has_an_address(
    sandbox: Sandbox,
) -> None:
    async with sandbox(mail=[{"domain": "acme.test", "mx": "none"}]) as world:
        exchangers, address = (
            await world.ask("acme.test", "MX"),
            await world.ask("acme.test", "A"),
        )

    assert (exchangers.rcode(), texts(exchangers)) == (dns.rcode.NOERROR, [])
    assert texts(address)[0].startswith("127.")


@pytest.mark.parametrize(
    ("trouble", "rcode"), [("servfail", dns.rcode.SERVFAIL), ("refused", dns.rcode.REFUSED)]
)
async def test_trouble_is_with_mx_questions_only(
    sandbox: Sandbox, trouble: str, rcode: dns.rcode.Rcode
) -> None:
    async with sandbox(mail=[{"domain": "acme.test", "dns": trouble}]) as world:
        exchangers, address = (
            await world.ask("acme.test", "MX"),
            await world.ask("acme.test", "A"),
        )

    assert exchangers.rcode() == rcode
    assert address.rcode() == dns.rcode.NOERROR


async def test_silence_is_no_answer_at_all(sandbox: Sandbox) -> None:
    async with sandbox(mail=[{"domain": "acme.test", "dns": "silent"}]) as world:
        host, port = world.addresses.dns.split(":")
        question = dns.message.make_query("acme.test", "MX")
        with pytest.raises(dns.exception.Timeout):
            await dns.asyncquery.udp(question, host, port=int(port), timeout=0.2)


async def test_other_names_do_not_exist(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        answers = [await world.ask(name, "A") for name in ("nobody.test", "x.acme.test")]

    assert {answer.rcode() for answer in answers} == {dns.rcode.NXDOMAIN}


async def test_known_name_has_no_ipv6_address(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        answer = await world.ask("www.acme.test", "AAAA")

    assert (answer.rcode(), texts(answer)) == (dns.rcode.NOERROR, [])


async def test_long_answer_is_cut_on_udp_and_whole_on_tcp(sandbox: Sandbox) -> None:
    hosts = [{"name": f"exchanger-number-{n}.acme.test"} for n in range(40)]
    async with sandbox(mail=[{"domain": "acme.test", "hosts": hosts}]) as world:
        short = await world.ask("acme.test", "MX")
        host, port = world.addresses.dns.split(":")
        question = dns.message.make_query("acme.test", "MX")
        whole = await dns.asyncquery.tcp(question, host, port=int(port), timeout=2)

    assert short.flags & dns.flags.TC
    assert not whole.flags & dns.flags.TC
    assert len(texts(whole)) == 40


async def test_garbage_is_dropped_and_the_next_question_answered(sandbox: Sandbox) -> None:
    async with sandbox() as world:
        host, port = world.addresses.dns.split(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            for garbage in (b"", b"\x00", b"\xff" * 600):
                client.sendto(garbage, (host, int(port)))
        answer = await world.ask("acme.test", "A")

    assert answer.rcode() == dns.rcode.NOERROR


def test_updates_are_not_implemented() -> None:
    question = dns.message.make_query("acme.test", "A")
    question.set_opcode(dns.opcode.NOTIFY)

    answer = Zone().answer(question)

    assert answer is not None
    assert answer.rcode() == dns.rcode.NOTIMP
