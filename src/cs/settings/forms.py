"""What may stand in each setting: its type, and the form of what is more than that."""

import difflib
import re
import ssl
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import urlsplit

import msgspec

from cs.plugins.setting_kind import describe_kind
from cs.runtime.redaction import MASK, redacted
from cs.settings.errors import BadSettings
from cs.settings.settings import SECRET_SETTINGS, Settings

#: The type of each setting that is no plug-in's, with its limits.
TYPES = get_type_hints(Settings, include_extras=True)
del TYPES["plugins"]


def allowed(name: str) -> str:
    """Say what may stand in the setting *name*.

    >>> allowed("port"), allowed("log_format")
    ('a whole number from 0 to 65535', 'one of console, json')
    """
    return _FORMS[name] if name in _FORMS else describe_kind(TYPES[name])


def convert(place: str, name: str, value: Any) -> Any:
    """Return *value*, which stands at *place*, in the type of the setting *name*.

    Raises:
        BadSettings: There is no such setting, or *value* is none for it.
    """
    if name not in TYPES:
        near = difflib.get_close_matches(name, TYPES, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(TYPES)}"
        raise BadSettings(f"{place}: there is no setting {name!r}; {meant}")
    try:
        found = msgspec.convert(value, TYPES[name], strict=False, dec_hook=_path)
        _check_form(name, found)
    except (ValueError, OSError):  # msgspec's own errors are ValueErrors; both quote *value*
        given = MASK if name in SECRET_SETTINGS else redacted(value)
        raise BadSettings(f"{place}: {name}: {allowed(name)}, not {given!r}") from None
    return found


def _path(_: type, value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(value).expanduser()


_DSN = "an address like postgresql://user@db.internal/cs"

#: What is allowed where the type does not say it all.
_FORMS = {
    "host": "a host name or an IP address",
    "admin_host": "a host name or an IP address",
    "smtp_helo": "a host name",
    "allow_networks": "a list of networks like 10.0.0.0/8",
    "deny_networks": "a list of networks like 198.51.100.0/24",
    "wikidata_url": "an address like https://www.wikidata.org/w/api.php",
    "traces_to": "an address like http://127.0.0.1:4318",
    "searxng_url": "an address like http://127.0.0.1:8888",
    "ca_file": "a readable file of certificates in PEM form",
    "dns": "IP address and port of a name server, like 127.0.0.1:53",
    "smtp_mail_from": "an e-mail address, or nothing for the null sender",
    "postgres": _DSN,
    "keys_postgres": _DSN,
    "stages_postgres": _DSN,
    "kafka": "a list of brokers as host:port, like kafka-1:9092",
    "kafka_prefix": "at most 100 letters, digits, dots, underscores and dashes",
}


def _check_form(name: str, value: Any) -> None:  # noqa: C901 - a match
    """Raise ValueError or OSError if *value*, of the right type, has a wrong form."""
    good = True
    match name:
        case "allow_networks" | "deny_networks":
            for network in value:
                ip_network(network)
        case "wikidata_url" | "searxng_url" | "traces_to" if value is not None:
            parts = urlsplit(value)
            good = parts.scheme in {"http", "https"} and bool(parts.hostname)
            good = good and parts.port != 0  # raises for what is no port
        case "ca_file" if value is not None:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(value)
        case "dns" if value is not None:
            host, _, port = value.rpartition(":")
            ip_address(host.strip("[]"))
            good = port.isdecimal() and 0 < int(port) <= 65535
        case "postgres" | "keys_postgres" | "stages_postgres" if value is not None:
            parts = urlsplit(value)
            good = parts.scheme in {"postgresql", "postgres"} and bool(parts.path.strip("/"))
        case "kafka":
            good = all(re.fullmatch(r"[^\s,/:@]+:[0-9]{1,5}", broker) for broker in value)
        case "kafka_prefix":
            good = re.fullmatch(r"[A-Za-z0-9._-]{0,100}", value) is not None
        case "smtp_mail_from":
            good = re.fullmatch(r"([^@\s]+@[^@\s]+)?", value) is not None
        case "host" | "admin_host" | "smtp_helo" if value is not None:
            good = re.fullmatch(r"\S+", value) is not None
        case _:
            pass
    if not good:
        raise ValueError
