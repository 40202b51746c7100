"""The operator's own ranges are visited by neither way that a stranger's word leads."""

from ipaddress import IPv4Network

import pytest
from msgspec.structs import replace

from cs.assembly.plugins import open_plugins
from cs.domain.mail.mailbox import Verdict
from cs.outside.guard import Guard
from cs.settings import BadSettings, load
from verifiers.smtp.mail_world import mail_world
from verifiers.smtp.server_cases import PLAIN


async def test_a_mail_exchanger_in_a_denied_network_is_never_dialled() -> None:
    async with mail_world() as world:
        heard = await world.exchanger(PLAIN)
        verifier = world.verifier()
        open_ = IPv4Network("127.77.0.0/16")
        guard = Guard([open_], deny_networks=[IPv4Network("127.77.25.0/24")])
        verifier.context = replace(verifier.context, guard=guard)
        (found,), _ = await world.check("jo", verifier=verifier)

    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, "forbidden-address")
    assert heard.commands == []


async def test_the_setting_reaches_the_guard_of_mail_and_web() -> None:
    settings = load(
        environment={"CS_DENY_NETWORKS": "93.184.216.0/24", "CS_SMTP_HELO": "x.test"}
    )
    async with open_plugins(settings) as tools:
        (smtp,) = [each for each in tools.verifiers if each.name == "smtp"]
        assert smtp is not None
        guard = smtp._verifier.context.guard  # type: ignore[attr-defined]
        with pytest.raises(Exception, match="not on the public internet"):
            guard.check("93.184.216.34")


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(BadSettings, match="deny_networks"):
        load(environment={"CS_DENY_NETWORKS": "93.184.216.0/99"})
