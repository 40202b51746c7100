from importlib.metadata import EntryPoint
from ipaddress import IPv4Network
from typing import Any

import pytest

from cs.outside.guard import Guard
from cs.outside.resolver import DnsResolver
from cs.verifiers.port import Verifier
from cs.verifiers.registry import (
    GROUP,
    BrokenVerifier,
    Context,
    UnknownVerifier,
    discover,
)
from cs.verifiers.smtp.verifier import SmtpVerifier, from_context
from verifiers.smtp.mail_world import DOMAIN, NOW, World
from verifiers.smtp.server_cases import PLAIN


class Named:
    """A verifier as far as the registry looks at it."""

    def __init__(self, name: str, cost: int) -> None:
        self.name, self.cost = name, cost


def cheap(_: Context) -> Named:
    return Named("cheap", 1)


def alike(_: Context) -> Named:
    return Named("alike", 1)


def dear(_: Context) -> Named:
    return Named("dear", 90)


def unset(_: Context) -> None:
    return None


def broken(_: Context) -> Named:
    raise KeyError("api_key")


def context(**settings: Any) -> Context:
    return Context(
        settings=settings,
        resolver=DnsResolver(("127.0.0.1", 53), 1.0),
        guard=Guard(),
        now=lambda: NOW,
        monotonic=lambda: 0.0,
    )


def point(name: str, value: str | None = None) -> EntryPoint:
    return EntryPoint(name, value or f"{__name__}:{name}", GROUP)


def found(*points: EntryPoint, enabled: list[str] | None = None) -> list[str]:
    made: tuple[Verifier, ...] = discover(
        lambda _: context(), enabled=enabled, installed=points
    )
    return [verifier.name for verifier in made]


def test_the_cheapest_comes_first_then_the_name() -> None:
    assert found(point("dear"), point("cheap"), point("alike")) == ["alike", "cheap", "dear"]


def test_one_that_is_not_configured_is_left_out() -> None:
    assert found(point("unset"), point("cheap")) == ["cheap"]


def test_only_the_enabled_are_loaded() -> None:
    assert found(point("cheap"), point("broken"), enabled=["cheap"]) == ["cheap"]


def test_an_unknown_name_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownVerifier, match=r"'smpt'; installed are: cheap, dear"):
        found(point("dear"), point("cheap"), enabled=["smpt"])


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("broken", None, "KeyError: 'api_key'"),
        ("gone", "no.such.module:factory", "ModuleNotFoundError"),
        ("typo", f"{__name__}:no_such_thing", "AttributeError"),
        ("other", f"{__name__}:cheap", "it calls itself 'cheap'"),
    ],
)
def test_a_broken_one_is_named_with_its_reason(name: str, value: str | None, why: str) -> None:
    with pytest.raises(BrokenVerifier, match=f"'{name}'.*{why}") as caught:
        found(point(name, value))

    assert caught.value.name == name


def test_each_is_given_its_own_context() -> None:
    asked: list[str] = []

    def context_of(name: str) -> Context:
        asked.append(name)
        return context()

    discover(context_of, installed=[point("cheap"), point("dear")])

    assert asked == ["cheap", "dear"]


def test_smtp_needs_a_name_of_ours() -> None:
    assert from_context(context()) is None


def test_smtp_is_made_of_its_settings() -> None:
    made = from_context(context(helo="out.verify.example", mail_from="", port=2525, reply_s=3))

    assert isinstance(made, SmtpVerifier)
    assert (made.name, made.cost) == ("smtp", 0)


def test_a_setting_of_smtp_is_its_own_kind() -> None:
    with pytest.raises(BrokenVerifier, match=r"smtp.*Expected `float`, got `str`.*reply_s"):
        discover(
            lambda _: context(helo="out.verify.example", reply_s="soon"),
            installed=[point("smtp", "cs.verifiers.smtp.verifier:from_context")],
        )


async def test_a_salt_makes_the_probes_this_installations_own(world: World) -> None:
    heard = await world.exchanger(PLAIN)

    async def probed(salt: str) -> set[str]:
        settings = {"helo": "out.verify.test", "port": world.port, "salt": salt}
        verifier = from_context(
            Context(
                settings=settings,
                resolver=DnsResolver(world.zone.address, 1.0),
                guard=Guard(allow_networks=(IPv4Network("127.77.0.0/16"),)),
                now=lambda: NOW,
                monotonic=world.clock,
            )
        )
        assert verifier is not None
        heard.sessions.clear()
        await world.check("jo", verifier=verifier)
        return {name for names in heard.recipients() for name in names} - {f"jo@{DOMAIN}"}

    plain, again, ours = await probed(""), await probed(""), await probed("ours")

    assert plain
    assert plain == again
    assert plain.isdisjoint(ours)
