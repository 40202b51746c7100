"""Forms of settings whose type does not say all that may stand in them.

A form stands in the annotation of its setting (`cs.settings.settings`).
"""

import re
import ssl
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from cs.domain.names.brand_names import clean_brand
from cs.plugins.declared_settings import Form


def _matching(text: str, pattern: str) -> Form:
    return Form(text, lambda value: re.fullmatch(pattern, value) is not None)


def _is_web_address(value: str) -> bool:
    parts = urlsplit(value)  # asking for the port raises for what is no port
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0


def _is_base_address(value: str) -> bool:
    parts = urlsplit(value)
    wrong_end = ("/completions", "/models", "/responses")
    return (
        _is_web_address(value)
        and "@" not in parts.netloc
        and not set("?#") & set(value)
        and not parts.path.rstrip("/").endswith(wrong_end)
    )


def _is_dsn(value: str) -> bool:
    parts = urlsplit(value)
    return parts.scheme in {"postgresql", "postgres"} and bool(parts.path.strip("/"))


def _is_name_server(value: str) -> bool:
    host, _, port = value.rpartition(":")
    ip_address(host.strip("[]"))
    return port.isdecimal() and 0 < int(port) <= 65535


def _is_ca_file(value: Path) -> bool:
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(value)
    return True


def networks(example: str) -> Form:
    """Return the form of a list of networks like *example*."""
    text = f"a list of networks like {example}"
    return Form(text, lambda value: all(ip_network(network) for network in value))


def web_address(example: str) -> Form:
    """Return the form of a web address like *example*."""
    return Form(f"an address like {example}", _is_web_address)


BASE_ADDRESS = Form(
    "the base address of an API like http://127.0.0.1:8000/v1, up to what stands before "
    "/chat/completions, without user name, password, ? and #",
    _is_base_address,
)
BRAND = Form("a brand of 2 to 120 characters", lambda value: bool(clean_brand(value)))
HOST = _matching("a host name or an IP address", r"\S+")
HEADER = _matching("the name of a header", r"[A-Za-z0-9-]{1,64}")
HOST_NAME = _matching("a host name", r"\S+")
DSN = Form("an address like postgresql://user@db.internal/cs", _is_dsn)
CA_FILE = Form("a readable file of certificates in PEM form", _is_ca_file)
NAME_SERVER = Form("IP address and port of a name server, like 127.0.0.1:53", _is_name_server)
SENDER = _matching("an e-mail address, or nothing for the null sender", r"([^@\s]+@[^@\s]+)?")
BROKERS = Form(
    "a list of brokers as host:port, like kafka-1:9092",
    lambda value: all(re.fullmatch(r"[^\s,/:@]+:[0-9]{1,5}", broker) for broker in value),
)
KAFKA_PREFIX = _matching(
    "at most 100 letters, digits, dots, underscores and dashes", r"[A-Za-z0-9._-]{0,100}"
)
