"""``cs config``: the settings in force."""

import os
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from cs.assembly.canary import canary_of
from cs.assembly.examination import examine
from cs.assembly.folder_keys import folder_of
from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import StagePlugins, open_plugins, unusable_settings
from cs.assembly.process import check_world, open_traces
from cs.assembly.shared_settings import check_shared, roles_of, shared_advice
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import as_text, facts, stop, styled
from cs.doctor import MAIL_DOMAINS
from cs.domain.names.brand_names import is_host_name
from cs.settings import load_with_places

app = App(name="config", help="Show and check the settings.")


@app.command
@on_data
def show(at: Invocation) -> Output:
    """Print every setting in force and its origin, secrets masked.

    They come from a TOML file (--config, or CS_CONFIG), then CS_... environment
    variables, then options. Names are the same everywhere: `port = 9000` in the file is
    CS_PORT=9000 in the environment. The settings of the source NAME stand in the table
    [sources.NAME]; `url` there is CS_SOURCES__NAME__URL; [verifiers.NAME] likewise.

    Example: `CS_PORT=9000 cs config show`
    """
    chosen, places = load_with_places(at.config, given={"data_dir": at.data_dir})
    values = chosen.shown()
    lines = (
        f"{name:<19} {as_text(value)}  # {places.get(name, 'default')}"
        for name, value in values.items()
    )
    return Output([{**values, "places": places}], lines)


@app.command
@on_data
async def check(at: Invocation) -> Output:
    """Check the settings, those of plug-ins too, and load every source and verifier used.

    Those of a service over several processes are checked together; nothing is connected to.
    Shows the roles that a process with these settings can have.

    Example: `cs config check --config cs.toml`
    """
    chosen = at.settings()
    check_world(chosen, "live")
    check_shared(chosen)
    await at.opened(open_traces(chosen, "check"))  # which needs an extra
    canary_of(chosen)
    if chosen.data_dir.exists() and roles_of(chosen) == ["serve"]:
        folder_of(chosen)  # a folder that lacks a file is refused, too
    directory = await at.opened(open_directory_if_named(chosen))
    there = directory if directory is not None and directory.has_people else None
    tools = await at.opened(open_plugins(chosen, directory=there))
    used = {
        "roles": roles_of(chosen),
        "brand_sources": [source.name for source in tools.brand_sources],
        "people_sources": [source.name for source in tools.people_sources],
        "verifiers": [verifier.name for verifier in tools.verifiers],
        "stages": [stage.name for stage in tools.stages],
        "advice": [
            *advice(tools),
            *shared_advice(chosen),
            *_journal_advice(chosen.erasure_journal),
        ],
    }
    return Output([used], ["the settings are good; in use:", *facts(used)])


def advice(tools: StagePlugins) -> list[str]:
    """Return advice about settings to change before searching the real world."""
    found = [f"{setting}: {why}" for setting, why in unusable_settings(tools).items()]
    found += [f"{name}: {why}" for name, why in tools.misconfiguration.reasons.items()]
    if [source.name for source in tools.brand_sources] == ["website"]:
        found.append(
            "brand_sources: website alone finds no brand that is named without a domain"
        )
    return found


def _journal_advice(file: Path | None) -> list[str]:
    place = file.parent if file is not None and not os.access(file, os.F_OK) else file
    if place is None or os.access(place, os.R_OK | os.W_OK):
        return []
    return [f"erasure_journal: this account cannot read and write {file}: erasures will fail"]


_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red", "not tried": "cyan"}


@on_data
async def doctor(
    at: Invocation,
    *,
    mail_domain: Annotated[
        tuple[str, ...] | None,
        Parameter(help="Try its mail servers; gmail.com and outlook.com."),
    ] = None,
    address: Annotated[
        str | None, Parameter(help="The IP address you send from; else mail servers say it.")
    ] = None,
) -> AsyncIterator[Output]:
    """Check all that searches need, and say how to fix each problem.

    The disk, files with keys, databases and brokers of the settings, the clock, the web, the
    sources, DNS, port 25, and your name to mail servers: HELO and reverse DNS. Changes nothing
    and reveals no person: mail servers are only greeted.

    With --json one line for each check: its name, state (ok, warning, failed, not tried), what
    was found, and what to do.

    Example: `cs doctor`, or `cs doctor --json`
    """
    domains = _hosts(mail_domain or MAIL_DOMAINS, "--mail-domain")
    sender = _address(address)
    failed = []
    async for each in examine(at.settings(), domains, sender):
        line = f"[{_COLOURS[each.state]}]{{:<9}}[/]  {{:<24}}  {{}}"
        advice = [] if each.advice is None else [f"{'':<37}{each.advice}"]
        yield Output([each], [styled(line, each.state, each.check, each.said), *advice])
        failed += [each.check] if each.state == "failed" else []
    if failed:
        yield Output(problem=f"failed: {', '.join(failed)}")


def _hosts(names: tuple[str, ...], option: str) -> tuple[str, ...]:
    for name in names:
        if not is_host_name(name):
            stop(f"{option}: a host name, not {name!r}", 2)
    return names


def _address(text: str | None) -> str | None:
    try:
        return None if text is None else str(ip_address(text))
    except ValueError:
        stop(f"--address: an IP address, not {text!r}", 2)
