"""``cs sources``: whom brands and people are asked of."""

from cyclopts import App

from cs.assembly.service_checks import check_sources
from cs.cli.options import Config, DataDir, Json
from cs.cli.service_checks import tell_checks
from cs.cli.settings_in_force import settings

app = App(name="sources", help="Try the sources of brands and people.")


@app.command
def check(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Ask every source once, as cheaply as it can be asked, and say what works.

    A table: whether each works or why not, the price of a call, what was spent of the caps of
    today and this month, and what the service says is left. Calls count, also against the
    caps; most cost nothing, one question of a search engine at most. A source without a key
    is told as not-configured, and one that cannot be asked cheaply as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs sources check --config cs.toml`, or `cs sources check --json`
    """
    tell_checks(check_sources(settings(config, data_dir=data_dir)), json=json)
