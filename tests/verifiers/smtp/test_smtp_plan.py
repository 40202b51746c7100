"""The plan of a check: exchangers, DNS, what is remembered, time and evidence."""

import asyncio

import msgspec
import pytest

from cs.domain.mail.mailbox import DomainFacts, Verdict
from cs.domain.mail.syntax import is_mailbox
from cs.plugins.contracts.stand_in import StandIn, verifier_context
from cs.plugins.entry_points import Group
from harness.clients import plugin
from verifiers.smtp.mail_world import DOMAIN, NOW, QUICK, World, read_again
from verifiers.smtp.server_cases import PLAIN, PROBES, everybody, greylists_first, one_a_session
from verifiers.smtp.smtp_servers import (
    OK,
    SILENCE,
    Rcpt,
    Reply,
    Script,
    Thinks,
    people,
    said_to,
)

V = Verdict
#: A refused probe is believed for so many seconds.
BELIEVED_S = 6 * 3600.0


@pytest.mark.slow  # it waits for two seconds
async def test_a_server_that_thinks_before_each_recipient_is_waited_for(world: World) -> None:
    """As one does that takes 12 s for each where replies are given 10."""

    def thinks(rcpt: Rcpt) -> Reply:
        return Thinks(str(people("jo")(rcpt)), 1.2 * QUICK["reply_s"])

    await world.exchanger(thinks)

    found, _ = await world.check("jo", "al")

    assert [each.verdict for each in found] == [V.DELIVERABLE, V.UNDELIVERABLE]


def test_smtp_needs_a_name_of_ours() -> None:
    assert plugin(Group.VERIFIERS, "smtp", verifier_context(StandIn(lambda _: None))) is None


def test_the_time_for_an_address_is_enough_for_four_answers_of_12_s() -> None:
    context = verifier_context(StandIn(lambda _: None), helo="out.verify.test")
    settings = plugin(Group.VERIFIERS, "smtp", context).settings

    assert settings.reply_s * 1.5 > 12
    assert settings.address_s > 4 * 12 + settings.connect_s


# Exchangers.


async def test_a_probe_refused_by_one_exchanger_proves_nothing_of_another(
    world: World,
) -> None:
    await world.exchanger(
        said_to({"jo": "421 4.3.2 closing", "al": "421 4.3.2 closing"}), preference=5
    )
    await world.exchanger(everybody(OK), preference=10)

    found, learned = await world.check("jo", "al")

    assert {e.verdict for e in found} == {V.UNKNOWN}
    assert not learned.catch_all


async def test_a_backup_that_accepts_anybody_does_not_make_the_domain_a_catch_all(
    world: World,
) -> None:
    world.dead_exchanger(preference=5)
    await world.exchanger(everybody(OK), preference=20)

    found, learned = await world.check("jo")

    assert found[0].verdict is V.UNKNOWN
    assert found[0].retry_in_s
    assert learned.catch_all is None


# DNS.


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ({}, (V.UNDELIVERABLE, "no-such-domain")),
        ({"MX": ["0 ."]}, (V.UNDELIVERABLE, "null-mx")),
        ({"TXT": ['"hello"']}, (V.UNDELIVERABLE, "no-mail-host")),
        ({"MX": ["10 gone.acme.test."]}, (V.UNKNOWN, "mail-host-without-address")),
    ],
)
async def test_dns_says_that_the_domain_takes_no_mail(
    records: dict[str, list[str]], expected: tuple[Verdict, str], world: World
) -> None:
    if records:
        world.zone.add(DOMAIN, **records)

    found = await world.check_one()

    assert (found.verdict, found.reason, found.answered) == (*expected, True)


@pytest.mark.parametrize(
    ("trouble", "name", "kind"),
    [
        ("SERVFAIL", DOMAIN, "MX"),
        ("SILENCE", DOMAIN, "MX"),
        ("REFUSED", "mx1.acme.test", "A"),
    ],
)
async def test_dns_trouble_is_no_verdict(
    trouble: str, name: str, kind: str, world: World
) -> None:
    await world.exchanger(PLAIN)
    world.zone.troubles[name, kind] = trouble  # type: ignore[assignment]

    found = await world.check_one()

    assert (found.verdict, found.reason) == (V.UNKNOWN, "dns-no-answer")
    assert found.retry_in_s is not None
    assert found.answered is (kind == "A")


async def test_a_private_address_is_never_contacted(world: World) -> None:
    heard = await world.exchanger(PLAIN)

    found, _ = await world.check("jo", verifier=world.verifier(allow=""))

    assert (found[0].verdict, found[0].reason) == (V.UNKNOWN, "forbidden-address")
    assert heard.sessions == []


@pytest.mark.parametrize(
    "name", ["xn--a.acme.test.", r"m\\000x.acme.test.", r"\\255\\255.test.", "m@x.acme.test."]
)
async def test_a_mail_host_whose_name_is_none_is_never_contacted(
    name: str, world: World
) -> None:
    heard = await world.exchanger(PLAIN)
    world.zone.records[DOMAIN] = {"MX": [f"5 {name}"]}
    world.zone.add(name.removesuffix("."), A=["127.77.25.1"])

    found = await world.check_one()

    assert (found.verdict, found.reason) == (V.UNKNOWN, "forbidden-address")
    assert heard.sessions == []


async def test_a_mail_host_whose_name_is_none_does_not_hide_the_next(world: World) -> None:
    await world.exchanger(PLAIN)
    records = world.zone.records[DOMAIN]
    records["MX"] = ["1 xn--a.acme.test.", *records["MX"]]

    assert (await world.check_one("jo")).verdict is V.DELIVERABLE


# What is remembered, and for how long.


async def test_probes_have_a_session_of_their_own_and_are_asked_once(world: World) -> None:
    names = ("jo", "al", "bo", "cy", "di")
    heard = await world.exchanger(people(*names))

    await world.check(*names)

    recipients = heard.recipients()
    assert recipients[0] == [f"{name}@{DOMAIN}" for name in PROBES]
    assert PROBES[0] not in str(recipients[1:])
    assert [r.count(f"{PROBES[1]}@{DOMAIN}") for r in recipients[1:]] == [1, 1]
    assert [len(r) for r in recipients[1:]] == [4, 3], "three people and a control"


async def test_a_server_that_takes_one_session_at_once_gets_one_at_once(
    world: World,
) -> None:
    heard = await world.exchanger(Script(PLAIN, at_once=1, quit=Thinks("221 bye", 0.05)))

    found, _ = await world.check("jo", "al", "bo", "cy", "jo")

    assert [each.verdict for each in found] == [
        V.DELIVERABLE,
        *3 * [V.UNDELIVERABLE],
        V.DELIVERABLE,
    ]
    assert all(heard.sessions)
    assert read_again(found[0]) == (V.DELIVERABLE, "recipient-accepted")


async def test_a_salt_makes_the_probes_this_installations_own(world: World) -> None:
    heard = await world.exchanger(PLAIN)

    async def probed(salt: str) -> set[str]:
        heard.sessions.clear()
        await world.check("jo", verifier=world.verifier(salt=salt))
        return {name for names in heard.recipients() for name in names} - {f"jo@{DOMAIN}"}

    plain, again, ours = await probed(""), await probed(""), await probed("ours")

    assert plain
    assert plain == again
    assert plain.isdisjoint(ours)
    assert all(is_mailbox(name) for name in plain | ours)


async def test_a_refused_probe_is_remembered_for_hours(world: World) -> None:
    heard = await world.exchanger(PLAIN)
    verifier = world.verifier()

    await world.check("jo", verifier=verifier)
    await world.check("jo", verifier=verifier)
    asked = [r[0] for r in heard.recipients()].count(f"{PROBES[0]}@{DOMAIN}")
    world.clock.seconds += BELIEVED_S
    await world.check("jo", verifier=verifier)
    asked_later = [r[0] for r in heard.recipients()].count(f"{PROBES[0]}@{DOMAIN}")

    assert (asked, asked_later) == (1, 2)


async def test_an_inconclusive_probe_is_not_remembered(world: World) -> None:
    await world.exchanger(greylists_first)
    verifier = world.verifier()

    first, learned = await world.check("jo", verifier=verifier)
    second, _ = await world.check("jo", verifier=verifier)

    assert (first[0].verdict, first[0].retry_in_s) == (V.UNKNOWN, 300.0)
    assert learned.greylists
    assert second[0].verdict is V.DELIVERABLE, "the triplet was not registered"


async def test_a_greylist_without_a_hint_is_tried_again_after_a_minute(world: World) -> None:
    await world.exchanger(everybody("450 4.2.0 greylisted"))

    assert (await world.check_one()).retry_in_s == 60.0


async def test_a_known_catch_all_is_not_asked(world: World) -> None:
    heard = await world.exchanger(PLAIN)

    found, _ = await world.check("jo", known=DomainFacts(catch_all=True))

    assert found[0].verdict is V.CATCH_ALL
    assert heard.sessions == []


async def test_a_domain_said_to_sift_is_probed_all_the_same(world: World) -> None:
    await world.exchanger(everybody(OK))

    found, learned = await world.check("jo", known=DomainFacts(catch_all=False))

    assert found[0].verdict is V.CATCH_ALL
    assert learned.catch_all


async def test_one_recipient_a_session_is_learned_and_kept_to(world: World) -> None:
    heard = await world.exchanger(one_a_session)

    _, learned = await world.check("jo", "al")
    before = len(heard.sessions)
    await world.check("jo", known=learned)

    assert learned.one_recipient
    assert all(len(r) == 1 for r in heard.recipients()[before:])


async def test_a_server_that_refuses_us_is_not_asked_twice(world: World) -> None:
    heard = await world.exchanger(Script(PLAIN, banner="554 5.7.1 blocked"))

    await world.check("jo", "al", "bo")

    assert len(heard.sessions) == 1


@pytest.mark.slow
async def test_a_silent_server_is_soon_left_alone(world: World) -> None:
    heard = await world.exchanger(everybody(SILENCE))

    await world.check("jo", "al", "bo", "cy")

    assert len(heard.sessions) <= 2


# Who we are, and encryption.


async def test_an_offer_of_encryption_is_taken_whatever_the_certificate(world: World) -> None:
    heard = await world.exchanger(Script(PLAIN, ehlo="250-mx.test\n250 STARTTLS"))

    found = await world.check_one("jo")

    assert found.verdict is V.DELIVERABLE
    assert heard.encrypted == [True, True]


async def test_broken_encryption_is_tried_once(world: World) -> None:
    script = Script(PLAIN, ehlo="250-mx\n250 STARTTLS", handshake=False)
    heard = await world.exchanger(script)

    await world.check("jo", "al")

    assert heard.commands.count("STARTTLS") == 1


# Time, bounds and evidence.


async def test_an_address_takes_no_longer_than_its_limit(world: World) -> None:
    await world.exchanger(Script(PLAIN, banner=SILENCE))
    verifier = world.verifier(address_s=0.2, connect_s=9.0, reply_s=9.0)

    async with asyncio.timeout(2):
        found, _ = await world.check("jo", "al", "bo", verifier=verifier)

    assert {(e.verdict, e.reason) for e in found} == {(V.UNKNOWN, "timeout")}


async def test_cancelling_drops_the_connection(world: World) -> None:
    heard = await world.exchanger(everybody(SILENCE))
    verifier = world.verifier(address_s=9.0, reply_s=9.0)
    checking = asyncio.create_task(world.check("jo", verifier=verifier))
    async with asyncio.timeout(2):
        while not heard.recipients() or not heard.recipients()[0]:
            await asyncio.wait({checking}, timeout=0.01)

    checking.cancel()
    await asyncio.wait({checking})

    assert checking.cancelled()
    async with asyncio.timeout(2):
        await heard.all_over()


async def test_no_connection_is_left_behind(world: World) -> None:
    heard = await world.exchanger(Script(PLAIN, quit=SILENCE))

    await world.check("jo", "al")

    async with asyncio.timeout(2):
        await heard.all_over()


async def test_a_check_that_was_cut_off_does_not_spoil_the_next(world: World) -> None:
    def slow_for_al(rcpt: Rcpt) -> Reply:
        return SILENCE if rcpt.local == "al" else PLAIN(rcpt)

    await world.exchanger(slow_for_al)
    verifier = world.verifier(address_s=0.3, reply_s=9.0)

    found, _ = await world.check("jo", "al", "jo", verifier=verifier)

    assert [e.verdict for e in found] == [V.DELIVERABLE, V.UNKNOWN, V.DELIVERABLE]


async def test_the_conversation_is_in_the_evidence(world: World) -> None:
    await world.exchanger(PLAIN)

    evidence = await world.check_one("jo")

    said = [(line.who, line.text) for line in evidence.conversation]
    assert ("C", f"RCPT TO:<{PROBES[0]}@{DOMAIN}>") in said
    after = said.index(("C", f"RCPT TO:<jo@{DOMAIN}>")) + 1
    assert said[after] == ("S", "250 2.1.5 Ok")
    assert evidence.at == NOW
    times = [line.at_ms for line in evidence.conversation]
    assert times == sorted(times)
    assert times[0] == 0


async def test_evidence_names_no_other_person(world: World) -> None:
    await world.exchanger(greylists_first, preference=5)
    await world.exchanger(PLAIN, preference=10)

    found, _ = await world.check("al", "jo", "bo")

    for evidence in found:
        text = str(evidence.conversation)
        others = {"al", "jo", "bo"} - {evidence.address.partition("@")[0]}
        assert not any(f"<{other}@" in text for other in others)


async def test_evidence_of_a_talkative_server_keeps_beginning_and_end(world: World) -> None:
    long = "550-5.1.1 " + "blah " * 90
    await world.exchanger(people("jo", refusal=f"{long}\n" * 60 + "550 5.1.1 no"))

    evidence = await world.check_one("al")

    texts = [line.text for line in evidence.conversation]
    assert evidence.verdict is V.UNDELIVERABLE
    assert len(msgspec.json.encode(evidence)) <= 8192
    assert texts[0].startswith("[connect")
    assert "[...]" in texts
    assert texts[-1] == "550 5.1.1 no"


async def test_a_domain_in_capitals_is_the_same(world: World) -> None:
    await world.exchanger(PLAIN)

    async with world.verifier().open("ACME.test", DomainFacts()) as check:
        found = [await check.check("jo@acme.TEST"), await check.check("jo@other.test")]

    assert [e.verdict for e in found] == [V.DELIVERABLE, V.UNDELIVERABLE]


async def test_a_second_address_of_a_host_is_tried(world: World) -> None:
    await world.exchanger(PLAIN)
    world.zone.records[f"mx1.{DOMAIN}"] = {"A": ["127.77.25.77", "127.77.25.1"]}

    assert (await world.check_one("jo")).verdict is V.DELIVERABLE


async def test_addresses_asked_at_once_take_turns(world: World) -> None:
    await world.exchanger(PLAIN)
    verifier = world.verifier()

    async with verifier.open(DOMAIN, DomainFacts()) as check:
        found = await asyncio.gather(
            *(check.check(f"{local}@{DOMAIN}") for local in ("jo", "al", "jo"))
        )

    assert [e.verdict for e in found] == [V.DELIVERABLE, V.UNDELIVERABLE, V.DELIVERABLE]
