"""Settings: a TOML file, then ``CS_…`` environment variables, read once and typed.

Whatever is unknown or wrong is refused with its place and what is allowed.
"""

import os
import tomllib
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

ENV_PREFIX = "CS_"

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting, with its default.  `cs config show` prints what is in force."""

    # Where it runs.
    data_dir: Path = Path("cs-data")
    host: str = "127.0.0.1"
    port: Port = 8080
    admin_host: str = "127.0.0.1"
    admin_port: Port = 8081
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"

    # What it allows.
    lookup_deadline_s: Seconds = 120.0
    lookups_per_day: Annotated[int, Meta(ge=0)] | None = None  # service-wide ceiling
    contacts: Annotated[int, Meta(ge=1, le=100)] = 25  # of one search

    # Whom it asks; None or empty: everything that is installed.
    brand_sources: tuple[str, ...] | None = None
    people_sources: tuple[str, ...] | None = None
    verifiers: tuple[str, ...] | None = None
    contact: str | None = None  # in our User-Agent: who runs this service
    wikidata_url: str = "https://www.wikidata.org/w/api.php"
    searxng_url: str | None = None

    # How it reaches the outside.
    allow_networks: tuple[str, ...] = ()  # private networks that found hosts may be on
    web_ports: tuple[Port, Port] = (80, 443)
    ca_file: Path | None = None  # trusted besides the public authorities
    dns: str | None = None  # host:port; None: the system's resolver

    # Who it is to mail servers.
    smtp_port: Port = 25
    smtp_helo: str | None = None  # our host name there; None: this machine's own
    smtp_mail_from: str = ""  # empty: the null sender <>

    def __post_init__(self) -> None:
        for network in self.allow_networks:
            try:
                ip_network(network)
            except ValueError as error:
                raise ValueError(
                    f"allow_networks: {error}; write it like 10.0.0.0/8"
                ) from error


class BadSettings(Exception):
    """Settings that cannot be used; the message names the place and what is allowed."""


#: Settings that are never printed.
SECRET: frozenset[str] = frozenset()
_LISTS = {
    "brand_sources",
    "people_sources",
    "verifiers",
    "allow_networks",
    "web_ports",
}


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of *file*, overridden by *environment*, overridden by *given*.

    Args:
        file: A TOML file; the one named by ``CS_CONFIG`` if ``None``.
        environment: ``os.environ`` if ``None``; lists are separated by commas.
        given: Values from the command line; ``None`` ones are skipped.

    Raises:
        BadSettings: Naming the file or variable, the setting, and what is allowed.
    """
    env = dict(os.environ if environment is None else environment)
    named = env.pop("CS_CONFIG", None)
    values, places = _from_file(file or (Path(named) if named else None))
    for variable, text in env.items():
        if not variable.startswith(ENV_PREFIX) or variable.startswith("CS_TEST_"):
            continue
        name = variable.removeprefix(ENV_PREFIX).lower()
        if name in NOT_SETTINGS:
            continue
        values[name] = _from_text(name, text)
        places[name] = f"environment variable {variable}"
    for name, value in (given or {}).items():
        if value is not None:
            values[name] = value
            places[name] = f"option --{name.replace('_', '-')}"
    return _checked(values, places)


#: Variables of the commands that talk to a service, not settings of one.
NOT_SETTINGS = frozenset({"api_key", "url"})


def _from_file(file: Path | None) -> tuple[dict[str, Any], dict[str, str]]:
    if file is None:
        return {}, {}
    try:
        values = tomllib.loads(file.read_text())
    except OSError as error:
        raise BadSettings(f"settings file {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"settings file {file} is not TOML: {error}") from error
    return values, dict.fromkeys(values, f"settings file {file}")


def _from_text(name: str, text: str) -> Any:
    if name in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _checked(values: dict[str, Any], places: Mapping[str, str]) -> Settings:
    for name in values:
        if name not in Settings.__struct_fields__:
            allowed = ", ".join(sorted(Settings.__struct_fields__))
            raise BadSettings(
                f"{places[name]}: there is no setting {name!r}; there are {allowed}"
            )
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`").partition("[")[0] or message.partition(":")[0]
        place = places.get(name, "settings")
        raise BadSettings(f"{place}: {name}: {message[0].lower() + message[1:]}") from error


def shown(settings: Settings) -> dict[str, Any]:
    """Return *settings* for people, secrets masked."""
    plain = msgspec.to_builtins(settings, enc_hook=str)
    return {
        name: "********" if name in SECRET and value is not None else value
        for name, value in plain.items()
    }
