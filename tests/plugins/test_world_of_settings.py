"""What points at a made-up world is no setting of a live service."""

from pathlib import Path

import pytest

from cli.command import Here
from cs.assembly.folder import sandbox_clock
from cs.assembly.process import check_world
from cs.assembly.sandbox_world import run_sandbox
from cs.sandbox.world import load as load_world
from cs.settings import BadSettings, load

SANDBOX_ONLY = [
    ({"CS_SMTP_PORT": "2525"}, "smtp_port: 25, not 2525: that is for a sandbox"),
    ({"CS_VERIFIERS__SMTP__PORT": "2525"}, "smtp_port: 25, not 2525"),
    ({"CS_ALLOW_NETWORKS": "10.0.0.0/8,127.9.0.0/16"}, "no loopback addresses, not 127.9."),
    ({"CS_ALLOW_NETWORKS": "0.0.0.0/0"}, "no loopback addresses, not 0.0.0.0/0"),
    ({"CS_ALLOW_NETWORKS": "::1/128"}, "no loopback addresses, not ::1/128"),
]


@pytest.mark.parametrize(("environment", "message"), SANDBOX_ONLY)
def test_a_live_service_refuses_what_only_a_sandbox_may_have(
    environment: dict[str, str], message: str
) -> None:
    settings = load(environment=environment)

    check_world(settings, "sandbox")
    with pytest.raises(BadSettings, match=message):
        check_world(settings, "live")


def test_a_live_service_may_open_private_networks_and_ask_a_resolver_here() -> None:
    environment = {"CS_ALLOW_NETWORKS": "10.0.0.0/8,fd00::/8", "CS_DNS": "127.0.0.1:53"}

    check_world(load(environment=environment), "live")


def test_serving_the_real_world_with_them_makes_nothing(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_SMTP_PORT", "2525")
    data = tmp_path / "data"

    message = here("serve", "--port=0", "--admin-port=0", f"--data-dir={data}").error(2)

    assert here("config", "check").error(2) == message
    assert message == "smtp_port: 25, not 2525: that is for a sandbox; serve with --sandbox"
    assert not data.exists()


async def test_a_sandbox_leaves_out_what_plug_ins_were_told_of_the_real_world(
    tmp_path: Path,
) -> None:
    tables = {
        "CS_SOURCES__WIKIDATA__URL": "https://real.example/w/api.php",
        "CS_VERIFIERS__SMTP__HELO": "real.example",
    }
    clock = sandbox_clock(tmp_path)

    async with run_sandbox(
        load(environment=tables), load_world(None), tmp_path, clock
    ) as inside:
        check_world(inside, "sandbox")

        assert "real.example" not in repr(inside)
