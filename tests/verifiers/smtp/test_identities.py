"""Who we are to mail servers: several identities, SOCKS5, and a rest for who is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.mailbox import Verdict
from cs.domain.mail.reply_meaning import STATEMENTS, ReplyKind
from cs.plugins.verifiers import DomainFacts
from cs.verifiers.smtp.identity import (
    REFUSALS,
    REST_S,
    Identity,
    SenderHealth,
    parse_identity,
)
from cs.verifiers.smtp.rereading import reread
from cs.verifiers.smtp.verifier import REFUSES_US
from verifiers.smtp.mail_world import DOMAIN, World
from verifiers.smtp.server_cases import PLAIN
from verifiers.smtp.smtp_servers import Script, people
from verifiers.smtp.socks_server import socks_server

ONE, TWO = Identity("one.us.test", "check@us.test"), Identity("two.us.test", "check@us.test")
ABOUT_US = "550 5.7.1 Service unavailable, client host [127.0.0.1] blocked using a list"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail.us.test", Identity("mail.us.test", "")),
        ("mail.us.test jo@us.test", Identity("mail.us.test", "jo@us.test")),
        ("mail.us.test socks5://h:1", Identity("mail.us.test", "", "socks5://h:1")),
        (
            " mail.us.test  jo@us.test socks5://u:p@h:1 ",
            Identity("mail.us.test", "jo@us.test", "socks5://u:p@h:1"),
        ),
    ],
)
def test_an_identity_is_read(text: str, expected: Identity) -> None:
    assert parse_identity(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "mail.us.test us.test",
        "mail.us.test jo@us.test socks5://h",
        "mail.us.test jo@us.test http://u:secret@h:1",
        "mail.us.test jo@us.test socks5://u:secret@h:1 more",
        "mail.us.test jo@us.test socks5://u:sec/secret@h:1",
        "mail.us.test jo@us.test socks5://u:secret\u2100@h:1",
    ],
)
def test_what_is_no_identity_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(ValueError, match=r"identity|sender|proxy") as caught:
        parse_identity(text)

    assert "secret" not in str(caught.value)


async def test_mail_servers_are_reached_through_a_proxy_by_their_address(world: World) -> None:
    heard = await world.exchanger(PLAIN)
    async with socks_server(user=("us", "pass word")) as proxy:
        through = world.verifier(helo="us.test", proxy=proxy.url.replace(" ", "%20"))
        (found,), _ = await world.check("jo", verifier=through)

    assert found.verdict is Verdict.DELIVERABLE
    assert set(proxy.asked) == {("127.77.25.1", world.port)}
    assert heard.commands[0] == "EHLO us.test"
    assert "pass" not in str(found)


@pytest.mark.parametrize(
    ("reply", "user", "reason"),
    [(5, None, "connect"), (2, None, "proxy"), (None, ("us", "other"), "proxy")],
)
async def test_a_proxy_that_does_not_help_leaves_it_unknown(
    world: World, reply: int | None, user: tuple[str, str] | None, reason: str
) -> None:
    await world.exchanger(PLAIN)
    async with socks_server(reply=reply, user=user) as proxy:
        url = proxy.url.replace(":other@", ":wrong@")
        verifier = world.verifier(proxy=url)
        (found,), _ = await world.check("jo", verifier=verifier)

    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, reason)


async def test_no_proxy_there(world: World) -> None:
    await world.exchanger(PLAIN)
    async with socks_server() as proxy:
        pass
    verifier = world.verifier(proxy=proxy.url)

    (found,), _ = await world.check("jo", verifier=verifier)

    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, "proxy")


class Brands:
    """Mail domains behind one host, and who they are asked by."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.verifier = world.verifier(helo="one.us.test")

    async def ask(self, number: int) -> tuple[Verdict, str]:
        domain = f"brand{number}.test"
        self.world.zone.add(domain, MX=[f"5 mx1.{DOMAIN}."])
        async with self.verifier.open(domain, DomainFacts()) as check:
            found = await check.check(f"jo@{domain}")
        again = reread(found)
        assert again is None or (again.verdict, again.reason) == (found.verdict, found.reason)
        return found.verdict, found.reason


async def test_an_operator_that_refuses_us_is_left_alone_and_asked_again(world: World) -> None:
    heard = await world.exchanger(Script(people("jo"), mail=ABOUT_US))
    brands = Brands(world)

    found = [await brands.ask(number) for number in range(REFUSALS + 2)]
    asked = len(heard.sessions)

    assert found[:REFUSALS] == [(Verdict.UNKNOWN, "about-us")] * REFUSALS
    assert found[REFUSALS:] == [(Verdict.UNKNOWN, REFUSES_US)] * 2
    assert asked == REFUSALS
    ((name, why),) = world.told
    assert name == "acme.test as one.us.test"
    assert "cs doctor" in str(why)

    world.clock.seconds += REST_S
    assert await brands.ask(90) == (Verdict.UNKNOWN, "about-us")  # one tries again
    assert await brands.ask(91) == (Verdict.UNKNOWN, REFUSES_US)
    assert len(world.told) == 1


async def test_it_is_reported_when_they_accept_us_again(world: World) -> None:
    script = Script(people("jo"), mail=ABOUT_US)
    await world.exchanger(script)
    brands = Brands(world)
    for number in range(REFUSALS):
        await brands.ask(number)

    object.__setattr__(script, "mail", "250 2.1.0 Ok")
    world.clock.seconds += REST_S

    assert await brands.ask(90) == (Verdict.DELIVERABLE, "recipient-accepted")
    assert await brands.ask(91) == (Verdict.DELIVERABLE, "recipient-accepted")
    assert world.told[1:] == [("acme.test as one.us.test", None)]


ALL = [ONE, TWO, Identity("three.us.test", "")]
KINDS = st.sampled_from(sorted(ReplyKind))


@given(st.lists(st.tuples(st.integers(0, 5), KINDS, st.integers(0, 4_000)), max_size=60))
def test_a_domain_keeps_its_identity_unless_that_one_rests(
    history: list[tuple[int, ReplyKind, int]],
) -> None:
    now, told = 0.0, dict[str, str | None]()
    health = SenderHealth(ALL, lambda: now, told.__setitem__)
    favourites = {
        n: SenderHealth(ALL, lambda: 0.0).choose(f"b{n}.test", "mx.a.test") for n in range(6)
    }
    refused: dict[str, set[int]] = {each.helo: set() for each in ALL}
    for brand, kind, seconds in history:
        now += seconds
        chosen = health.choose(f"b{brand}.test", "mx.a.test")
        if isinstance(chosen, float):
            assert 0 < chosen <= REST_S
            assert all(len(each) >= REFUSALS for each in refused.values())
            continue
        if not any(len(each) >= REFUSALS for each in refused.values()):
            assert chosen == favourites[brand]
        health.note(chosen, f"b{brand}.test", "mx.a.test", kind)
        if kind in STATEMENTS:
            refused[chosen.helo].clear()
        elif kind in {ReplyKind.ABOUT_US, ReplyKind.SENDER}:
            refused[chosen.helo].add(brand)
    resting = {
        f"a.test as {helo}" for helo, brands in refused.items() if len(brands) >= REFUSALS
    }
    assert {name for name, why in told.items() if why is not None} == resting
    assert isinstance(health.choose("b0.test", "mx.elsewhere.test"), Identity)
