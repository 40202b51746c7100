"""The checks of ``cs doctor`` (`cs.doctor`), on what the settings name."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import dns.resolver

from cs.assembly.people_directory import look_if_readable, open_directory_if_named
from cs.assembly.plugins import (
    StagePlugins,
    address_guard,
    build_stage,
    name_resolver,
    open_plugins,
    unusable_settings,
)
from cs.assembly.settings_of_plugins import of_verifier
from cs.assembly.shared_settings import DATABASES, kafka_settings
from cs.directory.store import DirectoryUnavailable
from cs.doctor import (
    DoctorFinding,
    SenderSettings,
    check_brokers,
    check_clock,
    check_database,
    check_disk,
    check_open_files,
    check_secret_file,
    check_sender,
)
from cs.domain.stages.table import OWN_STAGES, STAGES
from cs.outside.http import TrustedClient, user_agent
from cs.outside.port import Forbidden, Unreachable
from cs.outside.resolver import DnsResolver
from cs.plugins.sources import BrandSource, PeopleSource, is_local, missing_of
from cs.runtime.data_folder import DataFolderError
from cs.runtime.redaction import redacted
from cs.settings import BadSettings, Settings

#: Files that no other account may read.
_SECRET_FILES = (
    "master_key_file",
    "next_master_key_file",
    "stages_key_file",
    "kafka_key_file",
    "kafka_password_file",
)
#: The smallest question to MediaWiki's API.
_SITE_INFO = {"action": "query", "meta": "siteinfo", "siprop": "general", "format": "json"}


async def examine(
    settings: Settings, mail_domains: Sequence[str], address: str | None
) -> AsyncIterator[DoctorFinding]:
    """Yield what is found, check by check.

    Args:
        settings: Of the service.
        mail_domains: Whose exchangers are tried.
        address: Our own IP address, where no mail server says it.

    Raises:
        BadSettings: Settings that cannot be used at all.
    """
    for finding in _look_at_machine(settings):
        yield finding
    for setting, store in DATABASES.items():
        if (dsn := getattr(settings, setting)) is not None:
            insecure = settings.insecure_postgres
            yield await check_database(setting, store, dsn, insecure=insecure)
    if settings.kafka:
        yield await check_brokers(kafka_settings(settings))
    for finding in await _ask_web(settings):
        yield finding
    async for finding in _look_at_plugins(settings):
        yield finding
    yield await _look_at_directory(settings)
    async for finding in _look_at_mail(settings, mail_domains, address):
        yield finding


def _look_at_machine(settings: Settings) -> list[DoctorFinding]:
    own = [] if settings.postgres else [check_disk(settings.data_dir)]
    named: dict[str, Path | None] = {name: getattr(settings, name) for name in _SECRET_FILES}
    secrets = [check_secret_file(name, path) for name, path in named.items() if path]
    return [*own, *secrets, check_open_files(settings.holds)]


async def _ask_web(settings: Settings) -> list[DoctorFinding]:
    """Return whether the web is reached, and by its answer whether our clock is right."""
    source = redacted(settings.wikidata_url)
    agent = user_agent(settings.contact)
    async with TrustedClient(user_agent=agent, ca_file=settings.ca_file) as client:
        try:
            answer = await client.get(settings.wikidata_url, params=_SITE_INFO)
        except (Unreachable, Forbidden) as error:
            advice = "let HTTPS out, or set the sources to what can be reached from here"
            said = f"{source}: {error}"
            return [
                DoctorFinding("web", "failed", said, advice),
                DoctorFinding(
                    "clock", "not tried", "no source was reached that gives the time"
                ),
            ]
    now = datetime.now(UTC)
    clock = check_clock(now, answer.headers.get("date"), source)
    if answer.status != 200:
        said, advice = f"{source} answers {answer.status}", "set wikidata_url to Wikidata's API"
        return [DoctorFinding("web", "warning", said, advice), clock]
    return [DoctorFinding("web", "ok", f"{source} answers"), clock]


async def _look_at_plugins(settings: Settings) -> AsyncIterator[DoctorFinding]:
    async with (
        open_directory_if_named(settings) as directory,
        open_plugins(settings, directory=directory) as tools,
    ):
        if directory is not None:
            await look_if_readable(directory)  # else it is reported below
        unusable = unusable_settings(tools)
        every: list[BrandSource | PeopleSource] = [*tools.brand_sources, *tools.people_sources]
        for source in every:
            missing = missing_of(source)
            check = f"source {source.name}"
            # An empty directory lacks nothing, unless the settings name it.
            unasked = is_local(source) and settings.people_sources is None
            if missing is None:
                yield DoctorFinding(check, "ok", "it is in use")
            elif not unasked:
                yield DoctorFinding(
                    check, "warning", missing, "set it, or leave the source out"
                )
        for each in tools.verifiers:
            yield DoctorFinding(f"verifier {each.name}", "ok", "it is in use")
        for stage in tools.stages:
            yield DoctorFinding(f"stage {stage.name}", "ok", "a plug-in does its work")
        for name in STAGES.keys() - OWN_STAGES.keys():
            yield _extra_stage(name, tools)
        for name, why in tools.misconfiguration.reasons.items():
            yield DoctorFinding(name, "warning", why, "set it, or leave the verifier out")
        for setting, why in unusable.items():
            yield DoctorFinding(
                setting, "failed", why, "docs/operations.md, Before the real world"
            )


def _extra_stage(name: str, tools: StagePlugins) -> DoctorFinding:
    """Return whether the extra stage *name* can be made."""
    try:
        build_stage(name, tools)
    except BadSettings as error:
        advice = "set what it needs where it runs, or remove its package"
        return DoctorFinding(f"stage {name}", "warning", str(error), advice)
    return DoctorFinding(f"stage {name}", "ok", "a package adds it")


async def _look_at_directory(settings: Settings) -> DoctorFinding:
    """Return how many people the operator's own directory has, and how old."""
    try:
        async with open_directory_if_named(settings) as directory:
            if directory is None:
                said = "the settings do not name its key, stages_key_file"
                return DoctorFinding("own people", "not tried", said)
            status = await directory.status()
            await directory.people_at([], limit=1)  # which needs its key
    except (DirectoryUnavailable, BadSettings, DataFolderError) as error:
        advice = "docs/sources.md says where it is and what seals it"
        return DoctorFinding("own people", "failed", str(error), advice)
    if not status.people:
        return DoctorFinding(
            "own people", "ok", "the directory has no people (cs directory import)"
        )
    said = f"{status.people} in the directory, known of {status.oldest} to {status.newest}"
    return DoctorFinding("own people", "ok", said)


async def _look_at_mail(
    settings: Settings, mail_domains: Sequence[str], address: str | None
) -> AsyncIterator[DoctorFinding]:
    try:
        resolver = name_resolver(settings)
    except dns.resolver.NoResolverConfiguration:
        said = "this machine has no name server"
        yield DoctorFinding("DNS", "failed", said, "name one in /etc/resolv.conf or by dns")
        return
    yield await _ask_dns(resolver, mail_domains)
    if settings.verifiers is not None and "smtp" not in settings.verifiers:
        said = "the setting `verifiers` leaves out smtp: no mail server is asked"
        yield DoctorFinding("port 25", "not tried", said)
        return
    identity = of_verifier(settings, "smtp")
    sender = SenderSettings(
        helo=str(identity["helo"]),
        proxy=str(identity.get("proxy") or "") or None,
        port=int(identity["port"]),
        mail_domains=mail_domains,
        address=address,
    )
    for each in await check_sender(sender, resolver, address_guard(settings)):
        yield each


async def _ask_dns(resolver: DnsResolver, mail_domains: Sequence[str]) -> DoctorFinding:
    failures = []
    for domain in mail_domains:
        try:
            mail = await resolver.mail_hosts(domain)
        except Unreachable as error:
            failures.append(str(error))
            continue
        if mail.hosts:
            return DoctorFinding("DNS", "ok", f"{domain} takes mail at {mail.hosts[0]}")
        failures.append(f"{domain} takes no mail, DNS says")
    advice = "let DNS out (port 53), or name another server by dns"
    return DoctorFinding("DNS", "failed", "; ".join(failures), advice)
