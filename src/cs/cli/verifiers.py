"""``cs verifiers``: who is asked whether mailboxes exist."""

from cyclopts import App

from cs.assembly.service_checks import check_verifiers
from cs.cli.options import Config, DataDir, Json
from cs.cli.service_checks import tell_checks
from cs.cli.settings_in_force import settings

app = App(name="verifiers", help="Try the verifiers of mailboxes.")


@app.command
def check(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Ask every verification service once, about an address for trials, and say what works.

    A table: whether each works or why not, the price of a call, what was spent of the caps of
    today and this month, and what the service says is left. Each costs one call; ZeroBounce's
    address for trials is free. One without a key is told as not-configured; smtp asks no
    service and is told as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs verifiers check --config cs.toml`, or `cs verifiers check --json`
    """
    tell_checks(check_verifiers(settings(config, data_dir=data_dir)), json=json)
