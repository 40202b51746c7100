"""Settings: a TOML file, then ``CS_…`` environment variables, read once and typed.

Whatever is unknown or wrong is refused with its place and what is allowed.  Settings of
plug-ins stand in tables of their own: ``[sources.NAME]`` and ``[verifiers.NAME]``, or
``CS_SOURCES__NAME__KEY``.
"""

import difflib
import os
import re
import ssl
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from cs.bus.kafka.settings import SaslMechanism
from cs.domain.operator_actions import ACCOUNT
from cs.plugins.check_settings import SECTIONS, SectionSettings
from cs.plugins.errors import BadPluginSetting
from cs.plugins.plugin_settings import AllPluginSettings
from cs.plugins.setting_kind import describe_kind, from_text

ENV_PREFIX = "CS_"

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting, with its default.  `cs config show` prints what is in force."""

    # Where it runs.
    data_dir: Path = Path("cs-data")
    host: str = "127.0.0.1"
    port: Port = 8080
    admin_host: str = "127.0.0.1"
    admin_port: Port = 8081
    admin_names: tuple[str, ...] = ()  # that the admin port may be called by
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "console"] = "json"
    operator: Annotated[str, Meta(max_length=ACCOUNT)] | None = None  # who acts, in the trail

    # What the roles of one service share, when it runs as several processes
    # (docs/many-machines.md); a service in one process needs none of it.
    postgres: str | None = None  # events, views, leases
    keys_postgres: str | None = None  # data keys: a database of its own
    stages_postgres: str | None = None  # what stages remember: a database of its own
    insecure_postgres: bool = False  # databases elsewhere need not prove who they are
    postgres_connections: Annotated[int, Meta(ge=2, le=100)] = 10  # of one process to each
    master_key_file: Path | None = None  # 32 bytes that wrap the data keys
    next_master_key_file: Path | None = None  # while the master key is changed: the new one
    stages_key_file: Path | None = None  # 32 bytes that seal what stages remember
    kafka: tuple[str, ...] = ()  # host:port of some brokers
    kafka_prefix: str = ""  # before every topic and group
    kafka_tls: bool = False
    insecure_kafka: bool = False  # to brokers elsewhere in clear
    kafka_ca_file: Path | None = None
    kafka_certificate_file: Path | None = None
    kafka_key_file: Path | None = None
    kafka_sasl: SaslMechanism | None = None
    kafka_username: str | None = None
    kafka_password: str | None = None
    kafka_password_file: Path | None = None  # instead: a file that holds it
    kafka_session_timeout_s: Seconds = 10.0  # brokers insist on 6 or more
    events_feed: bool = False  # publish every event, personal data sealed, for other teams

    # What it allows.
    lookup_deadline_s: Seconds = 120.0
    lookups_per_day: Annotated[int, Meta(ge=0)] | None = None  # service-wide ceiling
    contacts: Annotated[int, Meta(ge=1, le=100)] = 25  # of one search
    people_kept_for: Annotated[int, Meta(ge=2, le=120)] = 24  # months without a search

    # How much it takes on at once (docs/settings.md, "Overload").
    holds: Annotated[int, Meta(ge=0)] = 2_000  # calls held; beyond: 202 at once
    lookups_at_once: Annotated[int, Meta(ge=1)] = 1_000  # beyond: at_capacity
    calls_per_key: Annotated[int, Meta(ge=1)] = 4  # worked on; the others of a key queue
    appends_waiting: Annotated[int, Meta(ge=1)] = 10_000  # beyond: server_error
    messages_waiting: Annotated[int, Meta(ge=1)] = 10_000  # in one topic

    # Whom it asks; None: everything that is installed.
    brand_sources: tuple[str, ...] | None = None
    people_sources: tuple[str, ...] | None = None
    verifiers: tuple[str, ...] | None = None
    foreign_verifiers: tuple[str, ...] = ()  # that a stage of another make asks
    stages: tuple[str, ...] = ()  # whose work an installed plug-in does, instead of ours
    contact: str | None = None  # in our User-Agent: who runs this service
    wikidata_url: str = "https://www.wikidata.org/w/api.php"
    searxng_url: str | None = None

    # How it reaches the outside.
    allow_networks: tuple[str, ...] = ()  # private networks that found hosts may be on
    deny_networks: tuple[str, ...] = ()  # our own public ranges, never visited
    web_ports: tuple[Port, Port] = (80, 443)
    ca_file: Path | None = None  # trusted besides the public authorities
    dns: str | None = None  # host:port; None: the system's resolver

    # Who it is to mail servers.
    smtp_port: Port = 25
    smtp_helo: str | None = None  # our host name there; None: this machine's own
    smtp_mail_from: str = ""  # empty: the null sender <>

    # What plug-ins were given; what they take, they say themselves.
    plugins: AllPluginSettings = AllPluginSettings()


class BadSettings(Exception):
    """Settings that cannot be used; the message names the place and what is allowed."""


#: Settings that are never printed.
SECRET = frozenset({"kafka_password"})
#: Settings that hold an address with a password in it.
WITH_PASSWORD = frozenset({"postgres", "keys_postgres", "stages_postgres"})
MASK = "********"

#: Variables of the commands that talk to a service and of tests, not settings of one.
NOT_SETTINGS = ("api_key", "url", "test_", "failpoints", "bus_faults", "conformance")

#: Sections of plug-ins' settings whose names are settings as well: which of them are used.
ALSO_A_LIST = ("verifiers", "stages")

_TYPES = get_type_hints(Settings, include_extras=True)
del _TYPES["plugins"]


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of *file*, overridden by *environment*, overridden by *given*.

    Args:
        file: A TOML file; the one named by ``CS_CONFIG`` if ``None``.
        environment: ``os.environ`` if ``None``; lists are separated by commas, and an
            empty variable counts as one that is not there.
        given: Values from the command line; ``None`` ones are skipped.

    Raises:
        BadSettings: Naming the file or variable, the setting, and what is allowed.
    """
    return load_with_places(file, environment, given)[0]


def load_with_places(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> tuple[Settings, dict[str, str]]:
    """Return what `load` returns, and where each value that is no default came from.

    The places are named as in `shown`: ``{"port": "environment variable CS_PORT"}``.
    """
    places: dict[str, str] = {}
    env = {k: v for k, v in (os.environ if environment is None else environment).items() if v}
    named = env.pop("CS_CONFIG", None)
    checked: dict[str, Any] = {}
    plugins = {section: SectionSettings(section) for section in SECTIONS}
    if file is not None or named is not None:
        file = file or Path(named or "")
        place = f"settings file {file}"
        content = _from_file(file)
        enabled, taken = _take_tables(place, content, plugins)
        places |= dict.fromkeys(taken, place)
        for name, value in (content | enabled).items():
            checked[name] = _checked(place, name, value)
            places[name] = place
    for variable, text in env.items():
        name = variable.removeprefix(ENV_PREFIX).lower()
        if variable.startswith(ENV_PREFIX) and not name.startswith(NOT_SETTINGS):
            place = f"environment variable {variable}"
            match name.split("__", 2):
                case [section, plugin, own] if section in plugins:
                    with _placed(place):
                        places[plugins[section].set_from_text(plugin, own, text)] = place
                case _:
                    value = from_text(_TYPES.get(name, str), text)
                    checked[name] = _checked(place, name, value)
                    places[name] = place
    for name, value in (given or {}).items():
        if value is not None:
            places[name] = f"option --{name.replace('_', '-')}"
            checked[name] = _checked(places[name], name, value)
    given_all = {section: settings.by_plugin() for section, settings in plugins.items()}
    return Settings(**checked, plugins=AllPluginSettings(**given_all)), places


def shown(settings: Settings) -> dict[str, Any]:
    """Return *settings* for people: those of plug-ins under full names, secrets masked."""
    plain = {name: _masked(name, getattr(settings, name)) for name in _TYPES}
    values = {**plain, **settings.plugins.shown()}
    return dict(msgspec.to_builtins(values, enc_hook=str))


def allowed(name: str) -> str:
    """Say what may stand in the setting *name*.

    >>> allowed("port"), allowed("log_format")
    ('a whole number from 0 to 65535', 'one of console, json')
    """
    return _FORMS[name] if name in _FORMS else describe_kind(_TYPES[name])


def _from_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise BadSettings(f"settings file {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        # As a list and as tables.
        twice = next((name for name in ALSO_A_LIST if name in str(error)), None)
        hint = f"; beside [{twice}.NAME] the list is {twice}.enabled" if twice else ""
        raise BadSettings(f"settings file {file} is not TOML: {error}{hint}") from error


def _take_tables(
    place: str, content: dict[str, Any], plugins: Mapping[str, SectionSettings]
) -> tuple[dict[str, Any], list[str]]:
    """Take the tables of plug-ins out of *content*; return the settings among them.

    The second value names what was taken, ``sources.shop.url``.

    In TOML ``verifiers`` cannot be a list and hold tables.  Beside tables the list of those
    that are used is ``verifiers.enabled``; so it is of each of `ALSO_A_LIST`.
    """
    settings = {}
    taken = []
    for section, checking in plugins.items():
        if not isinstance(content.get(section), dict):
            continue
        for plugin, table in content.pop(section).items():
            listed = section in ALSO_A_LIST and plugin == "enabled"
            if listed and not isinstance(table, dict):
                settings[section] = table
            elif not isinstance(table, dict):
                name = f"{section}.{plugin}"
                raise BadSettings(f"{place}: {name}: a table of settings, [{name}]")
            else:
                with _placed(place):
                    for name, value in table.items():
                        taken.append(checking.set(plugin, name, value))
    return settings, taken


@contextmanager
def _placed(place: str) -> Iterator[None]:
    try:
        yield
    except BadPluginSetting as error:
        raise BadSettings(f"{place}: {error}") from error


def _checked(place: str, name: str, value: Any) -> Any:
    """Return *value* in the type of the setting *name*."""
    if name not in _TYPES:
        near = difflib.get_close_matches(name, _TYPES, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(_TYPES)}"
        raise BadSettings(f"{place}: there is no setting {name!r}; {meant}")
    try:
        found = msgspec.convert(value, _TYPES[name], strict=False, dec_hook=_path)
        _check_form(name, found)
    except (ValueError, OSError) as error:  # msgspec's own errors are ValueErrors
        told = f"{place}: {name}: {allowed(name)}, not {_masked(name, value)!r}"
        raise BadSettings(told) from (None if name in SECRET | WITH_PASSWORD else error)
    return found


def _masked(name: str, value: Any) -> Any:
    """Return *value* as it may be shown.

    >>> _masked("postgres", "postgresql://cs:secret@db/cs")
    'postgresql://cs:********@db/cs'
    """
    if name in SECRET and value is not None:
        return MASK
    if name in WITH_PASSWORD and isinstance(value, str):
        hidden = re.sub(r"(?<=:)[^:@/]*(?=@[^@]*$)", MASK, value)
        return re.sub(r"(?i)(password=)[^&]*", rf"\g<1>{MASK}", hidden)
    return value


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


def _check_form(name: str, value: Any) -> None:
    """Raise ValueError or OSError if *value*, of the right type, has a wrong form."""
    good = True
    match name:
        case "allow_networks" | "deny_networks":
            for network in value:
                ip_network(network)
        case "wikidata_url" | "searxng_url" if value is not None:
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
            good = all(re.fullmatch(r"[^\s,/:]+:[0-9]{1,5}", broker) for broker in value)
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
