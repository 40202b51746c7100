"""The ``cs`` command: its groups, and how errors are told."""

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
app.command("cs.cli.demo:demo")
app.command("cs.cli.serve:serve")

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
