"""What points at a made-up world is no setting of a live service."""

from pathlib import Path

import pytest

from cli.command import Here

SANDBOX_ONLY = [
    ({"CS_SMTP_PORT": "2525"}, "smtp_port: 25, not 2525: that is for a sandbox"),
    ({"CS_VERIFIERS__SMTP__PORT": "2525"}, "smtp_port: 25, not 2525"),
    ({"CS_ALLOW_NETWORKS": "10.0.0.0/8,127.9.0.0/16"}, "no loopback addresses, not 127.9."),
    ({"CS_ALLOW_NETWORKS": "0.0.0.0/0"}, "no loopback addresses, not 0.0.0.0/0"),
    ({"CS_ALLOW_NETWORKS": "::1/128"}, "no loopback addresses, not ::1/128"),
]


@pytest.mark.parametrize(("environment", "message"), SANDBOX_ONLY)
def test_a_live_service_refuses_what_only_a_sandbox_may_have(
    here: Here, tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    data = tmp_path / "data"
    serve = ("serve", "--port=0", "--admin-port=0", f"--data-dir={data}")

    refused = here("config", "check", **environment).error(2)

    assert message in refused
    assert refused.endswith("; serve with --sandbox")
    assert here(*serve, **environment).error(2) == refused
    assert not data.exists()


def test_a_live_service_may_open_private_networks_and_ask_a_resolver_here(here: Here) -> None:
    environment = {"CS_ALLOW_NETWORKS": "10.0.0.0/8,fd00::/8", "CS_DNS": "127.0.0.1:53"}

    assert "sandbox" not in here("config", "check", **environment).err
