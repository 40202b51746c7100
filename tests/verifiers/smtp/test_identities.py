"""Who we are to mail servers: several identities, SOCKS5, and a rest for who is refused."""

from collections import Counter

import pytest

from cs.domain.mail.mailbox import Verdict
from cs.plugins.entry_points import BrokenPlugin
from cs.plugins.verifiers import DomainFacts
from verifiers.smtp.mail_world import DOMAIN, World, read_again
from verifiers.smtp.server_cases import PLAIN
from verifiers.smtp.smtp_servers import Script, people
from verifiers.smtp.socks_server import socks_server

#: Mail domains in a row that hear a refusal about us before we rest, and for how long.
REFUSALS, REST_S = 3, 1_800.0
TWO = "two.us.test check@us.test"
ABOUT_US = "550 5.7.1 Service unavailable, client host [127.0.0.1] blocked using a list"
REFUSES_US = (Verdict.UNKNOWN, "refuses-us")


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
def test_what_is_no_identity_is_refused_without_its_password(text: str, world: World) -> None:
    with pytest.raises(BrokenPlugin, match=r"identity|sender|proxy") as caught:
        world.verifier(identities=(text,))

    assert "secret" not in str(caught.value)


async def test_each_identity_has_its_name_sender_and_proxy(world: World) -> None:
    heard = await world.exchanger(PLAIN)
    async with socks_server() as proxy:
        identities = ("two.us.test jo@us.test", f" three.us.test  {proxy.url} ", "four.us.test")
        brands = Brands(world, identities=identities)
        for number in range(40):
            assert await brands.ask(number) == (Verdict.DELIVERABLE, "recipient-accepted")

    greeted = {
        (session[0].removeprefix("EHLO "), session[1].removeprefix("MAIL FROM:"))
        for session in heard.sessions
    }
    assert greeted == {
        ("one.us.test", "<check@verify.test>"),
        ("two.us.test", "<jo@us.test>"),
        ("three.us.test", "<>"),
        ("four.us.test", "<>"),
    }
    assert proxy.asked


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
    (gone,), _ = await world.check("jo", verifier=verifier)

    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, reason)
    assert (gone.verdict, gone.reason) == (Verdict.UNKNOWN, "proxy")


class Brands:
    """Mail domains behind one host, and who they are asked by."""

    def __init__(self, world: World, identities: tuple[str, ...] = ()) -> None:
        self.world = world
        self.verifier = world.verifier(helo="one.us.test", identities=identities)

    async def ask(self, number: int, host: str = f"mx1.{DOMAIN}") -> tuple[Verdict, str]:
        domain = f"brand{number}.test"
        self.world.zone.add(domain, MX=[f"5 {host}."])
        async with self.verifier.open(domain, DomainFacts()) as check:
            found = await check.check(f"jo@{domain}")
        seen = (found.verdict, found.reason)
        assert read_again(found) in {None, seen}
        return seen


async def test_an_operator_that_refuses_us_is_left_alone_and_asked_again(world: World) -> None:
    heard = await world.exchanger(Script(people("jo"), mail=ABOUT_US))
    brands = Brands(world)

    found = [await brands.ask(number) for number in range(REFUSALS + 2)]
    asked = len(heard.sessions)

    assert found[:REFUSALS] == [(Verdict.UNKNOWN, "about-us")] * REFUSALS
    assert found[REFUSALS:] == [REFUSES_US] * 2
    assert asked == REFUSALS
    ((name, why),) = world.told
    assert name == "acme.test as one.us.test"
    assert "cs doctor" in str(why)

    world.clock.seconds += REST_S
    assert await brands.ask(90) == (Verdict.UNKNOWN, "about-us")  # one tries again
    assert await brands.ask(91) == REFUSES_US
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


async def test_a_domain_keeps_its_identity_for_greylists(
    world: World,
) -> None:
    heard = await world.exchanger(people("jo"))
    brands = Brands(world, identities=(TWO,))
    for _ in range(2):
        for number in range(12):
            await brands.ask(number)

    names = dict[str, set[str]]()
    for session in heard.sessions:
        for line in session:
            if line.startswith("RCPT"):
                names.setdefault(line.rpartition("@")[2], set()).add(session[0])
    assert {len(each) for each in names.values()} == {1}
    assert len(set.union(*names.values())) == 2


async def test_the_other_identity_asks_while_one_rests_and_other_operators_are_asked(
    world: World,
) -> None:
    heard = await world.exchanger(Script(people("jo"), mail=ABOUT_US))
    brands = Brands(world, identities=(TWO,))

    found = [await brands.ask(number) for number in range(12)]
    greeted = Counter(session[0] for session in heard.sessions)
    world.zone.add("mx.elsewhere.test", A=["127.77.25.1"])

    refused = (Verdict.UNKNOWN, "about-us")
    assert greeted == {"EHLO one.us.test": REFUSALS, "EHLO two.us.test": REFUSALS}
    assert found == [refused] * 2 * REFUSALS + [REFUSES_US] * (12 - 2 * REFUSALS)
    assert {name for name, _ in world.told} == {
        f"acme.test as {number}.us.test" for number in ("one", "two")
    }
    assert await brands.ask(99, host="mx.elsewhere.test") == refused
