"""``cs doctor``: what is right and wrong around the service."""

import asyncio
from ipaddress import ip_address
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.examination import Extent, examine
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, stop, styled
from cs.cli.settings_in_force import settings
from cs.doctor.finding import DoctorFinding
from cs.doctor.sender import MAIL_DOMAINS
from cs.domain.names.brand_names import is_host_name

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red", "not tried": "cyan"}
#: DNS lists that are asked at most.
_LISTS = 20


def doctor(
    *,
    mail_domain: Annotated[
        tuple[str, ...] | None,
        Parameter(negative="", help="Whose mail servers are tried; gmail.com and outlook.com."),
    ] = None,
    address: Annotated[
        str | None, Parameter(help="The IP address you send from; else mail servers say it.")
    ] = None,
    dns_list: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="A DNS list of senders to look it up in; may be repeated."),
    ] = (),
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Look at all that searches need, and say what to do about what is wrong.

    The disk, files with keys, databases and brokers of the settings, the clock, the web, the
    sources, DNS, port 25, and who you are to mail servers: HELO, reverse DNS, SPF, and DNS
    lists where you name some. Changes nothing and names nobody: mail servers are only greeted.

    With --json one line for each check: its name, state (ok, warning, failed, not tried), what
    was found, and what to do.

    Example: `cs doctor`, or `cs doctor --dns-list zen.spamhaus.org --json`
    """
    extent = Extent(
        mail_domains=_hosts(mail_domain or MAIL_DOMAINS, "--mail-domain"),
        address=_address(address),
        lists=_hosts(dns_list, "--dns-list")[:_LISTS],
    )
    chosen = settings(config, data_dir=data_dir)

    async def run() -> list[DoctorFinding]:
        found = []
        async for finding in examine(chosen, extent):
            _show(finding, json=json)
            found.append(finding)
        return found

    failed = [each.check for each in asyncio.run(run()) if each.state == "failed"]
    if failed:
        stop(f"failed: {', '.join(failed)}")


def _show(finding: DoctorFinding, *, json: bool) -> None:
    if json:
        print_json(finding)
        return
    colour = _COLOURS[finding.state]
    line = f"[{colour}]{{:<9}}[/]  {{:<24}}  {{}}"
    console.print(styled(line, finding.state, finding.check, finding.said))
    if finding.advice is not None:
        console.print(f"{'':<37}{finding.advice}")


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
