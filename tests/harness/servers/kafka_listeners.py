"""Ports of a broker that ask for TLS, for a user, or for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Protocol = Literal["SASL_PLAINTEXT", "SSL", "SASL_SSL"]

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class Listener:
    """One more port of every broker."""

    name: str  # capital letters
    protocol: Protocol
    settings: Mapping[str, str] = field(default_factory=dict)  # of this port alone

    def lines(self) -> dict[str, str]:
        """Return the settings as `server.properties` names them."""
        prefix = f"listener.name.{self.name.lower()}."
        return {prefix + name: value for name, value in self.settings.items()}


def tls(shown: Path, authority: Path | None = None) -> dict[str, str]:
    """Return settings of a port that speaks TLS; all files are PEM.

    Args:
        shown: The broker's key and certificate.
        authority: Clients have to show a certificate that it signed; ``None``: none at all.
    """
    settings = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(shown)}
    if authority is not None:
        settings["ssl.client.auth"] = "required"
        settings["ssl.truststore.type"] = "PEM"
        settings["ssl.truststore.location"] = str(authority)
    return settings


def sasl(mechanisms: Sequence[str], users: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a port that asks who it is by one of *mechanisms*.

    Args:
        mechanisms: PLAIN, SCRAM-SHA-512 and so on.
        users: Passwords by name.  Those of SCRAM are stored with the cluster's data.
    """
    plain = "".join(f' user_{name}="{password}"' for name, password in users.items())
    settings = {"sasl.enabled.mechanisms": ",".join(mechanisms)}
    for mechanism in mechanisms:
        login = f"{_PLAIN} required{plain};" if mechanism == "PLAIN" else f"{_SCRAM} required;"
        settings[f"{mechanism.lower()}.sasl.jaas.config"] = login
    return settings


def protocols(listeners: Sequence[Listener]) -> str:
    """Return what each port of a broker speaks, those that every broker has included."""
    more = "".join(f",{listener.name}:{listener.protocol}" for listener in listeners)
    return f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{more}"
