import pytest

from cs.domain.mail.mailbox import Verdict
from verifiers.smtp.mail_world import PATIENT, mail_world
from verifiers.smtp.real_servers import REAL_SERVERS, RealCase, Y


async def verdicts(case: RealCase) -> tuple[Verdict, ...]:
    async with mail_world() as world:
        for number, script in enumerate(case.exchangers, 1):
            if script is None:
                world.dead_exchanger(preference=10 * number)
            else:
                await world.exchanger(script, preference=10 * number)
        for name, records in (case.records or {}).items():
            world.zone.records[name] = dict(records)
        verifier = world.verifier(**PATIENT, mail_from=case.mail_from)
        found, _ = await world.check("jo", "al", verifier=verifier)
        return tuple(each.verdict for each in found)


@pytest.mark.slow
async def test_servers_as_they_are_set_up_get_the_right_verdicts() -> None:
    """One test for all: what is wrong is listed, a false `deliverable` first."""
    found = {name: await verdicts(case) for name, case in REAL_SERVERS.items()}

    wrong = {
        name: verdict
        for name, verdict in found.items()
        if verdict != (REAL_SERVERS[name].jo, REAL_SERVERS[name].al)
    }
    false = [
        name
        for name, (jo, al) in found.items()
        if al is Y or (jo is Y and REAL_SERVERS[name].jo is not Y)
    ]
    assert len(found) >= 40
    assert false == []
    assert wrong == {}
