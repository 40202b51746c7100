"""The operator's own ranges are visited by neither way that a stranger's word leads."""

import pytest
from msgspec.structs import replace

from cs.domain.mail.mailbox import Verdict
from harness.clients import guard
from harness.outside import set_up
from verifiers.smtp.mail_world import mail_world
from verifiers.smtp.server_cases import PLAIN


async def test_a_mail_exchanger_in_a_denied_network_is_never_dialled() -> None:
    async with mail_world() as world:
        heard = await world.exchanger(PLAIN)
        verifier = world.verifier()
        denying = guard("127.77.0.0/16", denied=["127.77.25.0/24"])
        verifier.context = replace(verifier.context, guard=denying)
        (found,), _ = await world.check("jo", verifier=verifier)

    assert (found.verdict, found.reason) == (Verdict.UNKNOWN, "forbidden-address")
    assert heard.commands == []


async def test_the_setting_reaches_the_guard_of_mail_and_web() -> None:
    environment = {"CS_DENY_NETWORKS": "93.184.216.0/24", "CS_SMTP_HELO": "x.test"}
    async with set_up(environment) as tools:
        (smtp,) = [each for each in tools.verifiers if each.name == "smtp"]
        assert smtp is not None
        judge = smtp._verifier.context.guard  # type: ignore[attr-defined]
        with pytest.raises(Exception, match="not on the public internet"):
            judge.check("93.184.216.34")
