"""Plug-ins of the stages, made from the settings: sources, verifiers and whole stages."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from ipaddress import ip_network
from urllib.parse import urlsplit

import msgspec

from cs.assembly.sandbox_plugins import KEYED, asked_names, played
from cs.assembly.settings_of_plugins import of_source, of_stage, of_verifier
from cs.directory.store import PeopleDirectory
from cs.domain.service import World
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.metrics.metrics import Metrics
from cs.opinions.language_model import AT_ONCE, AWAY_PAUSE_S, NAME, LanguageModel
from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient, user_agent
from cs.outside.port import ApiClient
from cs.outside.resolver import DnsResolver
from cs.paid_calls.budgets import UNLIMITED, Budgets
from cs.paid_calls.register import EVERY_TIME, PaidCalls
from cs.paid_calls.service import PaidService, ServiceSettings
from cs.pipeline.brand_resolution import BrandResolution
from cs.pipeline.contact_discovery import ENOUGH, ContactDiscovery
from cs.pipeline.misconfiguration import NONE, Misconfiguration
from cs.pipeline.ranking import Ranking
from cs.pipeline.verification import PaidCaps, PaidQuestions, Verification
from cs.plugins.containment import captured_output
from cs.plugins.entry_points import Group, PluginError
from cs.plugins.isolated import (
    IsolatedBrandSource,
    IsolatedPeopleSource,
    IsolatedStage,
    IsolatedVerifier,
)
from cs.plugins.registry import load_plugins
from cs.plugins.sources import BrandSource, PeopleSource, SourceContext, missing_of
from cs.plugins.stages import Stage, StageContext
from cs.plugins.verifiers import Verifier, VerifierContext
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.local_hosts import is_local
from cs.settings import BadSettings, Settings

#: Of one DNS question, retries included.
DNS_TIMEOUT_S = 5.0

#: The setting without which a verifier is not asked, where that is not its key.
_SWITCHED_ON_BY = {"smtp": "helo", "reacher": "url"}
#: The source over the operator's own people.
DIRECTORY = "directory"


class StagePlugins(msgspec.Struct, frozen=True):
    """Sources and verifiers that the stages ask, and stages that are plug-ins themselves."""

    brand_sources: Sequence[BrandSource]
    people_sources: Sequence[PeopleSource]
    verifiers: Sequence[Verifier]
    stages: Sequence[Stage] = ()
    misconfiguration: Misconfiguration = msgspec.field(default_factory=Misconfiguration)
    paid_caps: PaidCaps = PaidCaps()
    enough_people: int = ENOUGH
    source_order: Sequence[str] = ()
    verifier_order: Sequence[str] = ()
    second_opinion: LanguageModel | None = None
    extra_stage: Callable[[StageName], Stage] | None = None  # makes the stage of that name

    @property
    def names(self) -> list[str]:
        """Return the names of all of them."""
        sources = [
            *(s.name for s in self.brand_sources),
            *(s.name for s in self.people_sources),
        ]
        others = [verifier.name for verifier in self.verifiers]
        return [*sources, *others, *(f"stage {stage.name}" for stage in self.stages)]


@asynccontextmanager
async def open_plugins(
    settings: Settings,
    clock: Clock | None = None,
    paid: PaidCalls = EVERY_TIME,
    *,
    budgets: Budgets = UNLIMITED,
    directory: PeopleDirectory | None = None,
    world: World = "live",
    metrics: Metrics | None = None,
) -> AsyncIterator[StagePlugins]:
    """Open the clients to the outside world and make what asks with them.

    Args:
        settings: Name and set up the plug-ins.
        clock: The machine's if ``None``.
        paid: Makes calls that cost money; `EVERY_TIME` remembers none of them.
        budgets: How fast and within which caps; `UNLIMITED` counts nothing.
        directory: The operator's own people; without it they are asked for only where the
            settings name that source.
        world: In a sandbox, sources that know the real world by heart are left out.
        metrics: Where questions to the outside are counted.

    Raises:
        BadSettings: A plug-in that is named is not there, or cannot be used.
    """
    clock, metrics = clock or SystemClock(), metrics or Metrics()
    resolver, guard = name_resolver(settings, metrics), address_guard(settings)
    misconfiguration = Misconfiguration()
    agent = user_agent(settings.contact)
    ca_file = settings.ca_file
    with captured_output():
        async with (
            TrustedClient(user_agent=agent, ca_file=ca_file) as trusted,
            GuardedClient(
                guard,
                resolver,
                user_agent=agent,
                web_ports=settings.web_ports,
                ca_file=ca_file,
                monotonic=clock.monotonic,
            ) as guarded,
        ):

            def for_source(name: str) -> SourceContext:
                return SourceContext(
                    trusted=trusted,
                    guarded=guarded,
                    settings=of_source(settings, name),
                    now=clock.now,
                    paid=paid,
                    budgets=budgets,
                    directory=directory,
                )

            def for_verifier(name: str) -> VerifierContext:
                return VerifierContext(
                    tell_operator=lambda what, why: misconfiguration.note(
                        f"verifiers.{name} {what}", why
                    ),
                    settings=of_verifier(settings, name),
                    resolver=resolver,
                    guard=guard,
                    fetcher=trusted,
                    now=clock.now,
                    monotonic=clock.monotonic,
                    paid=paid,
                    budgets=budgets,
                )

            def for_stage(name: str) -> StageContext:
                return StageContext(
                    settings=of_stage(settings, name),
                    trusted=trusted,
                    guarded=guarded,
                    resolver=resolver,
                    guard=guard,
                    now=clock.now,
                    monotonic=clock.monotonic,
                    paid=paid,
                    budgets=budgets,
                )

            made = _make_plugins(
                settings,
                clock,
                world,
                metrics,
                misconfiguration,
                has_directory=directory is not None,
                for_source=for_source,
                for_verifier=for_verifier,
                for_stage=for_stage,
            )
            if world == "live":
                _note_not_set_up(settings, made)
            opinion = second_opinion(
                settings, trusted, paid=paid, budgets=budgets, world=world, now=clock.now
            )

            def make_extra(name: StageName) -> Stage:
                try:
                    (stage,) = load_plugins(Group.EXTRA_STAGES, for_stage, enabled=[name])
                except PluginError as error:
                    raise BadSettings(str(error)) from error
                return IsolatedStage(stage, of_stage(settings, name))

            yield msgspec.structs.replace(made, second_opinion=opinion, extra_stage=make_extra)


def _make_plugins(
    settings: Settings,
    clock: Clock,
    world: World,
    metrics: Metrics,
    misconfiguration: Misconfiguration,
    *,
    has_directory: bool,
    for_source: Callable[[str], SourceContext],
    for_verifier: Callable[[str], VerifierContext],
    for_stage: Callable[[str], StageContext],
) -> StagePlugins:
    """Return every plug-in that runs, isolated so that its errors stay its own."""
    names = {group: asked_names(settings, group, world) for group in KEYED}
    order = played(settings, Group.VERIFIERS, settings.verifier_order, world)
    people = names[Group.PEOPLE_SOURCES]
    people_order = played(settings, Group.PEOPLE_SOURCES, settings.people_source_order, world)
    named = settings.people_sources is not None or DIRECTORY in settings.people_source_order
    if not has_directory and not named:
        people = [name for name in people if name != DIRECTORY]
    if missing := set(people_order) - set(people):
        raise BadSettings(f"people_source_order: no such source is asked: {min(missing)}")
    try:
        return StagePlugins(
            [
                IsolatedBrandSource(each, of_source(settings, each.name), metrics)
                for each in load_plugins(
                    Group.BRAND_SOURCES, for_source, enabled=names[Group.BRAND_SOURCES]
                )
            ],
            [
                IsolatedPeopleSource(each, of_source(settings, each.name), metrics)
                for each in load_plugins(Group.PEOPLE_SOURCES, for_source, enabled=people)
            ],
            [
                IsolatedVerifier(each, clock.now, of_verifier(settings, each.name), metrics)
                for each in _ordered(
                    load_plugins(Group.VERIFIERS, for_verifier, enabled=names[Group.VERIFIERS]),
                    order,
                )
            ],
            [
                IsolatedStage(each, of_stage(settings, each.name))
                for each in load_plugins(Group.STAGES, for_stage, enabled=settings.stages)
            ],
            misconfiguration,
            PaidCaps(per_person=settings.paid_per_person, per_search=settings.paid_per_search),
            settings.enough_people,
            people_order,
            order,
        )
    except PluginError as error:
        raise BadSettings(str(error)) from error


def _note_not_set_up(settings: Settings, made: StagePlugins) -> None:
    """Note the verifiers that *settings* name and that are not asked, as they lack a key."""
    asked = {verifier.name for verifier in made.verifiers}
    for name in settings.verifiers or ():
        if name not in asked:
            why = (
                f"the setting `verifiers` names it, and it is not set up; {how_to_set_up(name)}"
            )
            made.misconfiguration.note(f"verifiers.{name}", why)


def how_to_set_up(verifier: str) -> str:
    """Return what to do so that *verifier*, which is not set up, is asked."""
    return f"set verifiers.{verifier}.{_SWITCHED_ON_BY.get(verifier, 'key')}"


def _ordered(found: Sequence[Verifier], names: Sequence[str]) -> Sequence[Verifier]:
    """Return the verifiers in the order of *names*; who is not named there comes after.

    Raises:
        BadSettings: One is named that is not there, or that is not set up.
    """
    order = {name: number for number, name in enumerate(names)}
    if missing := order.keys() - {each.name for each in found}:
        raise BadSettings(f"verifier_order: no such verifier is set up: {min(missing)}")
    return sorted(found, key=lambda each: order.get(each.name, len(order)))


def unusable_settings(plugins: StagePlugins) -> dict[str, str]:
    """Return the settings that leave a stage with nothing to ask, and why, for people.

    A stage that is a plug-in asks by itself.  Nothing is asked here: what a plug-in cannot say
    of itself shows when it is used.
    """
    every: Mapping[str, Sequence[BrandSource] | Sequence[PeopleSource]] = {
        "brand_sources": plugins.brand_sources,
        "people_sources": plugins.people_sources,
    }
    unusable = {}
    for setting, sources in every.items():
        missing = {source.name: missing_of(source) for source in sources}
        if None not in missing.values():
            reasons = "; ".join(f"{name}: {what}" for name, what in missing.items())
            unusable[setting] = f"no source can be asked; {reasons or NONE}"
    if not plugins.verifiers:
        unusable["verifiers"] = f"no mailbox can be verified; {NONE}"
    replaced = {stage.name for stage in plugins.stages}
    ours = (row for name, row in STAGES.items() if name not in replaced)
    asked = {setting for row in ours for setting in row.asks}
    return {setting: why for setting, why in unusable.items() if setting in asked}


def name_resolver(settings: Settings, metrics: Metrics | None = None) -> DnsResolver:
    """Return what finds out about names."""
    server = None
    if settings.dns is not None:
        host, _, port = settings.dns.rpartition(":")
        server = host.strip("[]"), int(port)
    return DnsResolver(server, DNS_TIMEOUT_S, metrics=metrics)


def address_guard(settings: Settings) -> Guard:
    """Return the judge of addresses that come from outside."""
    return Guard(
        [ip_network(network) for network in settings.allow_networks],
        frozenset(settings.web_ports),
        [ip_network(network) for network in settings.deny_networks],
    )


def check_opinion_settings(settings: Settings) -> None:
    """Pass if address and model are both named, or neither, and no one can listen.

    Raises:
        BadSettings: One is missing, or the model is elsewhere and asked in clear.
    """
    if settings.opinion_url and not settings.opinion_model:
        raise BadSettings("opinion_model: name the model that opinion_url is asked for")
    if settings.opinion_model and not settings.opinion_url:
        raise BadSettings("opinion_url: where is the model of opinion_model asked?")
    host = urlsplit(settings.opinion_url or "").hostname or ""
    clear = (settings.opinion_url or "").startswith("http:") and not is_local(host)
    if clear and not settings.insecure_opinion:
        raise BadSettings(
            f"opinion_url: headlines and key would go to {host} in clear: make it https://, or "
            "set insecure_opinion = true where the network itself keeps others out"
        )


def second_opinion(
    settings: Settings,
    client: ApiClient,
    *,
    paid: PaidCalls,
    budgets: Budgets,
    world: World,
    now: Callable[[], datetime],
) -> LanguageModel | None:
    """Return the model that *settings* name; ``None``: none, or the people are made up.

    Raises:
        BadSettings: As `check_opinion_settings`.
    """
    check_opinion_settings(settings)
    if settings.opinion_url is None or settings.opinion_model is None or world == "sandbox":
        return None
    key = settings.opinion_key
    service = PaidService(
        NAME,
        ServiceSettings(
            url=settings.opinion_url,
            key=key or "",
            calls_per_s=settings.opinion_calls_per_s,
            burst=max(AT_ONCE, round(settings.opinion_calls_per_s)),
            usd_per_call=settings.opinion_usd_per_call,
            usd_per_day=settings.opinion_usd_per_day,
            usd_per_month=settings.opinion_usd_per_month,
        ),
        client,
        paid=paid,
        budgets=budgets,
        headers={"Authorization": f"Bearer {key}"} if key else {},
        away_pause_s=AWAY_PAUSE_S,
        now=now,
    )
    return LanguageModel(service, settings.opinion_model)


def build_stage(name: StageName, plugins: StagePlugins) -> Stage:
    """Return the stage called *name*: a plug-in, or ours, which asks with *plugins*.

    Raises:
        BadSettings: It is an extra stage, and cannot be made.
    """
    for plugin in plugins.stages:
        if plugin.name == name:
            return plugin
    match name:
        case "brand-resolution":
            return BrandResolution(plugins.brand_sources, plugins.misconfiguration)
        case "contact-discovery":
            return ContactDiscovery(
                plugins.people_sources,
                plugins.misconfiguration,
                plugins.enough_people,
                plugins.source_order,
            )
        case "ranking":
            return Ranking(second_opinion=plugins.second_opinion)
        case "verification":
            questions = PaidQuestions(plugins.paid_caps)
            return Verification(
                plugins.verifiers, plugins.misconfiguration, questions, plugins.verifier_order
            )
        case _:
            assert plugins.extra_stage is not None, "it is open"
            return plugins.extra_stage(name)


def build_stages(plugins: StagePlugins) -> Sequence[Stage]:
    """Return every stage, in the order of a lookup."""
    return tuple(build_stage(name, plugins) for name in STAGES)
