"""``cs doctor``: checks of all that a search needs, with advice on each problem."""

from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.examination import Extent, examine
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import stop, styled
from cs.doctor.sender import MAIL_DOMAINS
from cs.domain.names.brand_names import is_host_name

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red", "not tried": "cyan"}


@on_data
async def doctor(
    at: Invocation,
    *,
    mail_domain: Annotated[
        tuple[str, ...] | None,
        Parameter(negative="", help="Try its mail servers; gmail.com and outlook.com."),
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
    extent = Extent(
        mail_domains=_hosts(mail_domain or MAIL_DOMAINS, "--mail-domain"),
        address=_address(address),
    )
    failed = []
    async for each in examine(at.settings(), extent):
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
