"""Settings as they are in force: a TOML file, then ``CS_…`` variables, then options.

They are read once.  Whatever is unknown or wrong is refused with its place and what is allowed.
Settings of plug-ins stand in tables of their own: ``[sources.NAME]`` and ``[verifiers.NAME]``,
or ``CS_SOURCES__NAME__KEY``.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from cs.plugins.declared_settings import describe_kind, from_text
from cs.plugins.entry_points import BadPluginSetting
from cs.plugins.plugin_settings import SECTIONS, AllPluginSettings, SectionSettings
from cs.runtime.redaction import MASK, redacted
from cs.settings.forms import Form
from cs.settings.settings import SECRET_SETTINGS, TYPES, Settings

ENV_PREFIX = "CS_"

#: Variables of the commands that talk to a service and of tests, not settings of one.
NOT_SETTINGS = ("api_key", "url", "test_", "failpoints", "conformance")

#: Sections of plug-ins' settings whose names are settings as well: which of them are used.
ALSO_A_LIST = ("verifiers", "stages")


class BadSettings(Exception):
    """Settings that cannot be used; the message names the place and what is allowed."""


def allowed(name: str) -> str:
    """Return what may stand in the setting *name*, for people.

    >>> allowed("port"), allowed("log_format")
    ('a whole number from 0 to 65535', 'one of console, json')
    """
    form = _form(name)
    return describe_kind(TYPES[name]) if form is None else form.text


def _form(name: str) -> Form | None:
    marks = getattr(TYPES[name], "__metadata__", ())
    return next((mark for mark in marks if isinstance(mark, Form)), None)


def convert(place: str, name: str, value: Any) -> Any:
    """Return *value*, which stands at *place*, in the type of the setting *name*.

    Raises:
        BadSettings: There is no such setting, or *value* is none for it.
    """
    if name not in TYPES:
        near = difflib.get_close_matches(name, TYPES, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(TYPES)}"
        raise BadSettings(f"{place}: there is no setting {name!r}; {meant}")
    form = _form(name)
    try:
        found = msgspec.convert(value, TYPES[name], strict=False, dec_hook=_path)
        if form is None or found is None or form.fits(found):
            return found
    except (ValueError, OSError):  # msgspec's own errors are ValueErrors; both quote *value*
        pass
    given = MASK if name in SECRET_SETTINGS else redacted(value)
    raise BadSettings(f"{place}: {name}: {allowed(name)}, not {given!r}")


def _path(_: type, value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(value).expanduser()


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
    """What was taken so far; what is taken later overrides it.

    Attributes:
        places: Where each value came from, by the full name of its setting.

    Raises:
        BadSettings: From every method that takes.
    """

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._of_plugins = {section: SectionSettings(section) for section in SECTIONS}

    def take_file(self, file: Path) -> None:
        place = f"settings file {file}"
        for name, value in _read(file).items():
            if name in self._of_plugins and isinstance(value, dict):
                self._take_tables(place, name, value)
            else:
                self._take(place, name, value)

    def take_environment(self, environment: Mapping[str, str]) -> None:
        for variable, text in environment.items():
            name = variable.removeprefix(ENV_PREFIX).lower()
            if not variable.startswith(ENV_PREFIX) or name.startswith(NOT_SETTINGS):
                continue
            place = f"environment variable {variable}"
            match name.split("__", 2):
                case [section, plugin, own] if section in self._of_plugins:
                    with _placed(place):
                        full = self._of_plugins[section].set_from_text(plugin, own, text)
                    self.places[full] = place
                case _:
                    self._take(place, name, from_text(TYPES.get(name, str), text))

    def take_options(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            if value is not None:
                self._take(f"option --{name.replace('_', '-')}", name, value)

    def settings(self) -> Settings:
        by_section = {name: section.by_plugin() for name, section in self._of_plugins.items()}
        return Settings(**self._values, plugins=AllPluginSettings(**by_section))

    def _take(self, place: str, name: str, value: Any) -> None:
        self._values[name] = convert(place, name, value)
        self.places[name] = place

    def _take_tables(self, place: str, section: str, tables: Mapping[str, Any]) -> None:
        """Take the settings of plug-ins of one *section*, a table each.

        In TOML ``verifiers`` cannot be a list and hold tables.  With tables, the list of those
        that are used is ``verifiers.enabled``; so it is of each of `ALSO_A_LIST`.
        """
        for plugin, table in tables.items():
            if isinstance(table, dict):
                with _placed(place):
                    for name, value in table.items():
                        full = self._of_plugins[section].set(plugin, name, value)
                        self.places[full] = place
            elif section in ALSO_A_LIST and plugin == "enabled":
                self._take(place, section, table)
            else:
                name = f"{section}.{plugin}"
                raise BadSettings(f"{place}: {name}: a table of settings, [{name}]")


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
    """Add *place* to what is wrong with a setting of a plug-in."""
    try:
        yield
    except BadPluginSetting as error:
        raise BadSettings(f"{place}: {error}") from error
