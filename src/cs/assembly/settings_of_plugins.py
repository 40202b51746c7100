"""Settings of each plug-in; nothing is made or asked."""

import socket
from collections.abc import Mapping
from typing import Any

from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.plugins.plugin_settings import NO_SETTINGS, SettingValues
from cs.settings import Settings

#: Where `cs brands import` puts companies, in the data folder, unless a setting says so.
IMPORTED = "brands.sqlite"


def of_source(settings: Settings, name: str) -> SettingValues:
    """Return the settings of the source *name*: its table ``[sources.NAME]``.

    What the table leaves out is read from ``wikidata_url`` and ``searxng_url``, older names;
    imported brands are in the data folder.
    """
    older: Mapping[str, Mapping[str, str | None]] = {
        "wikidata": {"url": settings.wikidata_url},
        "searxng": {"url": settings.searxng_url},
        "imported": {"file": str(settings.data_dir / IMPORTED)},
    }
    return _with_older(settings.plugins.sources.get(name, NO_SETTINGS), older.get(name, {}))


def of_verifier(settings: Settings, name: str) -> SettingValues:
    """Return the settings of the verifier *name*; ``smtp_*`` are older names likewise."""
    smtp = {
        "helo": settings.smtp_helo or socket.getfqdn(),
        "mail_from": settings.smtp_mail_from,
        "port": settings.smtp_port,
    }
    return _with_older(
        settings.plugins.verifiers.get(name, NO_SETTINGS), smtp if name == "smtp" else {}
    )


def of_stage(settings: Settings, name: str) -> SettingValues:
    """Return what a plug-in that does the work of the stage *name* is given."""
    return settings.plugins.stages.get(name, NO_SETTINGS)


def verifier_names(settings: Settings) -> frozenset[str]:
    """Return the names of the verifiers whose evidence counts.

    Those that are enabled, or else all that are installed here.  None is made: a process
    that records what stages answer need not be able to verify.
    """
    installed = names_of(installed_plugins(Group.VERIFIERS))
    named = installed if settings.verifiers is None else settings.verifiers
    return frozenset(named) | frozenset(settings.foreign_verifiers)


def _with_older(table: SettingValues, older: Mapping[str, Any]) -> SettingValues:
    return table.with_defaults(
        {name: value for name, value in older.items() if value is not None}
    )
