"""Settings as they are in force: a TOML file, then ``CS_…`` variables, then options.

They are read once.  Whatever is unknown or wrong is refused with its place and what is allowed.
Settings of plug-ins stand in tables of their own: ``[sources.NAME]`` and ``[verifiers.NAME]``,
or ``CS_SOURCES__NAME__KEY``.  Only plug-ins that are given something are loaded.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cs.plugins.declared_settings import BadSetting, SettingField, from_text
from cs.plugins.entry_points import installed_plugins, names_of
from cs.plugins.plugin_settings import (
    SECTIONS,
    AllPluginSettings,
    SettingValues,
    did_you_mean,
    settings_of,
)
from cs.settings.settings import FIELDS, Settings

ENV_PREFIX = "CS_"

#: Variables of the commands that talk to a service and of tests, not settings of one.
NOT_SETTINGS = ("api_key", "url", "test_", "failpoints", "conformance")

#: Sections of plug-ins' settings whose names are settings as well: which of them are used.
ALSO_A_LIST = ("verifiers", "stages")

#: The table of the service's own settings.
_OWN = ("", "")


class BadSettings(Exception):
    """Settings that cannot be used; the message names the place and what is allowed."""


def allowed(name: str) -> str:
    """Return what may stand in the setting *name*, for people.

    >>> allowed("port"), allowed("log_format")
    ('a whole number from 0 to 65535', 'one of console, json')
    """
    return FIELDS[name].allowed


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

    The places are named as in `Settings.shown`: ``{"port": "environment variable CS_PORT"}``.
    """
    loading = _Loading()
    env = {k: v for k, v in (os.environ if environment is None else environment).items() if v}
    named = env.pop("CS_CONFIG", None)
    if file is not None or named is not None:
        loading.take_file(file or Path(named or ""))
    loading.take_environment(env)
    loading.take_options(given or {})
    return loading.settings(), loading.places


class _Loading:
    """Values taken so far, by table; a later one overrides an earlier one.

    A table is named by its section and its plug-in, both empty for the service's own settings.

    Attributes:
        places: Where each value came from, by the full name of its setting.

    Raises:
        BadSettings: From every method that takes.
    """

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self._fields: dict[tuple[str, str], Mapping[str, SettingField]] = {_OWN: FIELDS}
        self._values: dict[tuple[str, str], dict[str, Any]] = {_OWN: {}}

    def take_file(self, file: Path) -> None:
        with _placed(place := f"settings file {file}"):
            for name, value in _read(file).items():
                for table, own, each in _tables_in(name, value):
                    self._set(place, table, own, each)

    def take_environment(self, environment: Mapping[str, str]) -> None:
        for variable, text in environment.items():
            name = variable.removeprefix(ENV_PREFIX).lower()
            if not variable.startswith(ENV_PREFIX) or name.startswith(NOT_SETTINGS):
                continue
            with _placed(place := f"environment variable {variable}"):
                table = _OWN
                match name.split("__", 2):
                    case [section, plugin, own] if section in SECTIONS:
                        installed = names_of(installed_plugins(*SECTIONS[section]))
                        table, name = (section, _as_variable(plugin, installed)), own
                fields = self._fields_of(table)
                name = _as_variable(name, fields)
                value = from_text(fields[name].kind, text) if name in fields else text
                self._set(place, table, name, value)

    def take_options(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if value is not None:
                with _placed(place := f"option --{name.replace('_', '-')}"):
                    self._set(place, _OWN, name, value)

    def settings(self) -> Settings:
        given: dict[str, dict[str, SettingValues]] = {section: {} for section in SECTIONS}
        for (section, plugin), values in self._values.items():
            if section:
                fields = self._fields[section, plugin]
                secret = frozenset(name for name in values if fields[name].secret)
                given[section][plugin] = SettingValues(values, secret)
        return Settings(**self._values[_OWN], plugins=AllPluginSettings(**given))

    def _fields_of(self, table: tuple[str, str]) -> Mapping[str, SettingField]:
        if table not in self._fields:
            self._fields[table] = settings_of(*table)
        return self._fields[table]

    def _set(self, place: str, table: tuple[str, str], name: str, value: Any) -> None:
        """Set *name* of *table* to *value*, which was found in *place*.

        Raises:
            BadSetting: There is no such setting, or *value* is none for it.
        """
        fields, of = self._fields_of(table), ".".join(filter(None, table))
        full = f"{of}.{name}" if of else name
        if name not in fields:
            meant = did_you_mean(name, fields)
            raise BadSetting(f"{of}{': ' if of else ''}there is no setting {name!r}; {meant}")
        try:
            self._values.setdefault(table, {})[name] = fields[name].convert(value)
        except BadSetting as error:
            raise BadSetting(f"{full}: {error}") from None
        self.places[full] = place


def _tables_in(name: str, value: Any) -> Iterator[tuple[tuple[str, str], str, Any]]:
    """Yield what a file says of *name*: table, setting and value.

    In TOML ``verifiers`` cannot be a list and hold tables.  With tables, the list of those
    that are used is ``verifiers.enabled``; so it is of each of `ALSO_A_LIST`.
    """
    if name not in SECTIONS or not isinstance(value, dict):
        yield _OWN, name, value
        return
    for plugin, table in value.items():
        if isinstance(table, dict):
            for own, each in table.items():
                yield (name, plugin), own, each
        elif name in ALSO_A_LIST and plugin == "enabled":
            yield _OWN, name, table
        else:
            full = f"{name}.{plugin}"
            raise BadSetting(f"{full}: a table of settings, [{full}]")


def _as_variable(written: str, known: Iterable[str]) -> str:
    """Return the one of *known* that a variable writes as *written*; else *written*.

    ``-`` and ``.`` are ``_`` there.
    """
    as_written = {_variable(name): name for name in known}
    return as_written.get(_variable(written), written)


def _variable(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").casefold()


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise BadSettings(f"settings file {file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        # As a list and as tables.
        twice = next((name for name in ALSO_A_LIST if name in str(error)), None)
        hint = f"; beside [{twice}.NAME] the list is {twice}.enabled" if twice else ""
        raise BadSettings(f"settings file {file} is not TOML: {error}{hint}") from error


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Add *place* to what is wrong with a setting."""
    try:
        yield
    except BadSetting as error:
        raise BadSettings(f"{place}: {error}") from error
