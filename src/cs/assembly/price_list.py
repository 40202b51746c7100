"""What the settings say that each source, verifier and the model costs; nobody is asked."""

from contextlib import suppress

import msgspec

from cs.assembly.plugins import open_plugins
from cs.assembly.service_budgets import open_budgets
from cs.assembly.settings_of_plugins import of_source, of_verifier
from cs.domain.service import World
from cs.paid_calls.budgets.port import MICROS
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.service import ServiceSettings
from cs.plugins.declared_settings import PluginFactory
from cs.plugins.entry_points import Group, installed_plugins
from cs.plugins.sources import cost_of
from cs.plugins.verifiers import MICROS_OF_COST
from cs.settings import Settings

_GROUPS = {
    "brand-resolution": Group.BRAND_SOURCES,
    "contact-discovery": Group.PEOPLE_SOURCES,
    "verification": Group.VERIFIERS,
}


class PricedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may be paid.

    Attributes:
        stage, name: Who asks whom.
        usd: Of one question at most.
        questions: In one search at most.
        usd_per_day, usd_per_month: Caps; ``None``: it has none that the settings know.
        usd_today, usd_this_month: Spent so far; ``None``: not known.
    """

    stage: str
    name: str
    usd: float
    questions: int
    usd_per_day: float | None = None
    usd_per_month: float | None = None
    usd_today: float | None = None
    usd_this_month: float | None = None


async def price_list(settings: Settings, world: World) -> list[PricedPlugin]:
    """Return who is configured and charges.

    Raises:
        BadSettings: A plug-in that is named is not there, or cannot be used.
    """
    async with open_plugins(settings, world=world) as tools:
        found = [
            PricedPlugin(stage=stage, name=each.name, usd=cost_of(each), questions=1)
            for stage, sources in (
                ("brand-resolution", tools.brand_sources),
                ("contact-discovery", tools.people_sources),
            )
            for each in sources
            if cost_of(each) > 0
        ]
        found += [
            PricedPlugin(
                stage="verification",
                name=each.name,
                usd=each.cost * MICROS_OF_COST / MICROS,
                questions=settings.paid_per_search,
            )
            for each in tools.verifiers
            if each.cost > 0
        ]
        if tools.second_opinion is not None and settings.opinion_usd_per_call > 0:
            found.append(
                PricedPlugin(
                    stage="ranking",
                    name=tools.second_opinion.name,
                    usd=settings.opinion_usd_per_call,
                    questions=1,
                )
            )
    return await _with_caps(settings, world, found)


async def _with_caps(
    settings: Settings, world: World, found: list[PricedPlugin]
) -> list[PricedPlugin]:
    spent = {}
    async with open_budgets(settings, world) as budgets:
        with suppress(CallsUnavailable):
            spent = {each.service: each for each in await budgets.spending()}
    told = []
    for each in found:
        caps = _caps_of(settings, each)
        so_far = spent.get(each.name)
        told.append(
            each
            if caps is None
            else msgspec.structs.replace(
                each,
                usd_per_day=caps.usd_per_day,
                usd_per_month=caps.usd_per_month,
                usd_today=so_far.micros_today / MICROS if so_far else 0.0,
                usd_this_month=so_far.micros_this_month / MICROS if so_far else 0.0,
            )
        )
    return told


def _caps_of(settings: Settings, plugin: PricedPlugin) -> ServiceSettings | None:
    """Return the settings of *plugin* if it is a service of the common frame."""
    if plugin.stage == "ranking":
        return ServiceSettings(
            usd_per_day=settings.opinion_usd_per_day,
            usd_per_month=settings.opinion_usd_per_month,
        )
    group = _GROUPS[plugin.stage]
    of_plugin = of_verifier if group is Group.VERIFIERS else of_source
    table = of_plugin(settings, plugin.name)
    point = next((p for p in installed_plugins(group) if p.name == plugin.name), None)
    factory = None if point is None else point.load()
    declared = factory.settings if isinstance(factory, PluginFactory) else None
    if declared is None or not issubclass(declared, ServiceSettings):
        return None
    return msgspec.convert(dict(table), declared)
