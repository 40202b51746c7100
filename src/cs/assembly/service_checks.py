"""Whether the services that sources ask can be asked, what that costs and what is left."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import StagePlugins, how_to_set_up, open_plugins
from cs.domain.service import World
from cs.paid_calls.budgets import Budgets
from cs.paid_calls.service import (
    NOT_CHECKED,
    NOT_CONFIGURED,
    WORKS,
    CheckedPlugin,
    ServiceCheck,
)
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.settings import Settings

#: What was spent, a row a day and service, and how fast each may be asked.  Deleted while the
#: service is stopped, the caps of this day and month begin again.
SPENDING_FILE = "spending.db"

#: Endings of a check that are no fault.
NO_FAULT = frozenset({WORKS, NOT_CONFIGURED, NOT_CHECKED})


async def check_sources(
    settings: Settings, world: World = "live"
) -> AsyncIterator[CheckedPlugin]:
    """Check every source that *settings* name, or that is installed; yield each as it ends.

    Raises:
        BadSettings: A plug-in that is named is not there, or cannot be used.
    """
    people: Sequence[str] | None = settings.people_sources
    if people is None:  # those without a key, too
        people = names_of(installed_plugins(Group.PEOPLE_SOURCES))
    every = msgspec.structs.replace(settings, people_sources=tuple(people))
    async with open_counted_plugins(every, world) as tools:
        for brand_source in tools.brand_sources:
            yield await _checked("brand source", brand_source)
        for people_source in tools.people_sources:
            yield await _checked("people source", people_source)
        if tools.second_opinion is not None:
            yield await _checked("second opinion", tools.second_opinion)


async def check_verifiers(
    settings: Settings, world: World = "live"
) -> AsyncIterator[CheckedPlugin]:
    """Check every verifier that *settings* name, or that is installed; yield each as it ends.

    Raises:
        BadSettings: As `check_sources`.
    """
    names = settings.verifiers
    left = list(names_of(installed_plugins(Group.VERIFIERS)) if names is None else names)
    async with open_counted_plugins(settings, world) as tools:
        for each in tools.verifiers:
            left.remove(each.name)
            yield await _checked("verifier", each)
    for name in left:
        found = ServiceCheck(ended=NOT_CONFIGURED, why=how_to_set_up(name))
        yield CheckedPlugin(name=name, kind="verifier", found=found)


@asynccontextmanager
async def open_counted_plugins(
    settings: Settings, world: World = "live"
) -> AsyncIterator[StagePlugins]:
    """Open the plug-ins of *settings*; their calls are counted with those of the service."""
    async with (
        open_budgets(settings, world) as budgets,
        open_directory_if_named(settings) as directory,
        open_plugins(settings, budgets=budgets, directory=directory, world=world) as tools,
    ):
        yield tools


async def _checked(kind: str, plugin: object) -> CheckedPlugin:
    check = getattr(plugin, "check", None)
    found = ServiceCheck(ended=NOT_CHECKED, why="it has no check of its own")
    if check is not None:
        found = await check()
    return CheckedPlugin(name=getattr(plugin, "name", ""), kind=kind, found=found)


@asynccontextmanager
async def open_budgets(settings: Settings, world: World = "live") -> AsyncIterator[Budgets]:
    """Yield the account of *settings*: in the stages' database, else in the data folder.

    Neither the database is connected to nor the file made before something is reserved.

    Raises:
        BadSettings: The stages' database is not named as it has to be.
    """
    if settings.stages_postgres is not None:
        # A service in one process starts without what only databases need.
        from cs.assembly.databases import pool_of, shared_budgets  # noqa: PLC0415

        async with pool_of(settings, "stages_postgres", "command", world) as pool:
            yield shared_budgets(pool, settings)
        return
    file = settings.data_dir / SPENDING_FILE
    async with Budgets.in_file(file, settings.spending_caps) as budgets:
        yield budgets
