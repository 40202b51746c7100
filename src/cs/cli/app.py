"""The ``cs`` command: its groups, and how errors are told."""

import sys
from collections.abc import Iterator
from importlib.metadata import version

from cyclopts import App

from cs.cli.output import stop
from cs.data_folder import DataFolderError
from cs.domain.refusal import Refusal
from cs.eventlog.port import LogUnavailable
from cs.sandbox.world import WorldError
from cs.serving import CannotListen
from cs.settings import BadSettings

app = App(
    name="cs",
    version=version("contact-search"),
    help="A brand in, the people who run its influencer marketing out, "
    "with verified work e-mails only.\n\n"
    "Start with `cs demo`. Every command has --help.",
)
#: Where each command is, and its line in `cs --help`; loaded when it is called.
COMMANDS = (
    ("demo", "cs.cli.demo:demo", "Start everything with a made-up world and search once."),
    ("serve", "cs.cli.serve:serve", "Run the service."),
    ("keys", "cs.cli.keys:app", "Create, list, rotate and revoke API keys; grant quota."),
    ("search", "cs.cli.client:search", "Search the people of a brand, on any server."),
    ("get", "cs.cli.client:get", "Read a search again."),
    ("usage", "cs.cli.client:usage", "Show a key's quota and use."),
    ("brands", "cs.cli.brands:app", "See which brands are reused; forget one."),
    ("pause", "cs.cli.switch:pause", "Refuse new searches."),
    ("resume", "cs.cli.switch:resume", "Take new searches again."),
    ("sandbox", "cs.cli.sandbox:app", "List, check and prove sandbox worlds."),
    ("resolve", "cs.cli.stages:resolve", "Brand resolution by itself."),
    ("classify", "cs.cli.stages:classify", "Headline to role, by itself."),
    ("verify", "cs.cli.stages:verify", "Mailbox verification by itself."),
    ("config", "cs.cli.config:app", "See and check the settings."),
)


def _register() -> None:
    # The short line is for the list; a command's own --help has its docstring instead.
    listing = not any(name in sys.argv for name, _, _ in COMMANDS)
    for name, place, line in COMMANDS:
        app.command(place, name=name, help=line if listing else None)


#: What a user can do something about: told in a sentence, without a traceback.
TOLD = (
    BadSettings,
    CannotListen,
    DataFolderError,
    LogUnavailable,
    Refusal,
    WorldError,
)


def main() -> None:
    """Run the command; what a user can mend is told in a sentence (exit 1; settings 2)."""
    _register()
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as error:
        told = next(_leaves(error))
        if not isinstance(told, TOLD):
            raise
        stop(str(told), 2 if isinstance(told, BadSettings) else 1)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside nested groups of them."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
