"""Which settings only a sandbox may have."""

from ipaddress import ip_network
from typing import NoReturn

from cs.assembly.settings_of_plugins import of_verifier
from cs.domain.service import World
from cs.settings import BadSettings, Settings

#: Where mail exchangers of the real world listen (RFC 5321, 4.5.4.2).
SMTP_PORT = 25
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def check_world(settings: Settings, world: World) -> None:
    """Pass if *settings* go with *world*.

    A live log must get no answers of a made-up world: its "nobody" would be stored as
    established.

    Raises:
        BadSettings: *world* is live and one is for a sandbox only.
    """
    if world == "sandbox":
        return
    port = of_verifier(settings, "smtp")["port"]
    if port != SMTP_PORT:
        _only_in_a_sandbox("smtp_port", f"{SMTP_PORT}, not {port}")
    for text in settings.allow_networks:
        network = ip_network(text)
        if any(network.overlaps(own) for own in LOOPBACK if own.version == network.version):
            _only_in_a_sandbox("allow_networks", f"no loopback addresses, not {text}")


def _only_in_a_sandbox(name: str, right: str) -> NoReturn:
    raise BadSettings(f"{name}: {right}: that is for a sandbox; serve with --sandbox")
