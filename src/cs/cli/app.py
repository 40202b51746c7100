"""The ``cs`` command: its groups.

Whoever asks for help waits for what is imported here, so nothing of the service is: a
command's module is imported when the command is called, and what describes an error when
there is one.
"""

import sys
from collections.abc import Sequence

from cyclopts import App

from cs.cli.exit_codes import epilogue

#: Where each command is, and its line in `cs --help`; loaded when it is called.
COMMANDS = (
    ("demo", "cs.cli.demo:demo", "Start everything with a made-up world and search once."),
    ("serve", "cs.cli.serve:serve", "Run the service."),
    ("keys", "cs.cli.keys:app", "Create, list, rotate and revoke API keys; grant quota."),
    ("search", "cs.cli.client:search", "Search the people of a brand, on any server."),
    ("get", "cs.cli.client:get", "Read a search again."),
    ("usage", "cs.cli.client:usage", "Show a key's quota and use."),
    ("brands", "cs.cli.brands:app", "Import brands; see which are reused; forget one."),
    ("directory", "cs.cli.directory:app", "Your own people: import a list of them."),
    ("people", "cs.cli.people:app", "Erase a person; list who is suppressed."),
    ("mailboxes", "cs.cli.mailboxes:app", "Tell of mail that came back from mailboxes."),
    ("sources", "cs.cli.sources:app", "Try the sources of brands and people."),
    ("verifiers", "cs.cli.verifiers:app", "Try the verifiers of mailboxes."),
    ("doctor", "cs.cli.doctor:doctor", "Look at all that searches need; say what to mend."),
    ("status", "cs.cli.status:status", "Show how the service stands, on one screen."),
    ("pause", "cs.cli.switch:pause", "Refuse new searches."),
    ("resume", "cs.cli.switch:resume", "Take new searches again."),
    ("sandbox", "cs.cli.sandbox:app", "List, check and prove sandbox worlds."),
    ("resolve", "cs.cli.stages:resolve", "Brand resolution by itself."),
    ("classify", "cs.cli.stages:classify", "Headline to role, by itself."),
    ("verify", "cs.cli.stages:verify", "Mailbox verification by itself."),
    ("people-source", "cs.cli.people_source:app", "One people source by itself."),
    ("new", "cs.cli.new:app", "Write a source, a verifier or a stage of your own."),
    ("api", "cs.cli.roles:api", "One role by itself: answer calls."),
    ("relay", "cs.cli.roles:relay", "One role by itself: publish work to Kafka."),
    ("process-manager", "cs.cli.roles:process_manager", "One role by itself: drive lookups."),
    ("project", "cs.cli.roles:project", "One role by itself: keep the views up to date."),
    ("stage", "cs.cli.roles:stage", "One role by itself: work for one stage."),
    ("topics", "cs.cli.topics:app", "Make the topics on Kafka, and show them."),
    ("events", "cs.cli.events:app", "The history, event by event: show, follow, export."),
    ("state", "cs.cli.state:state", "How a key, brand or mail domain stood at any time."),
    ("searches", "cs.cli.searches:app", "What a search was answered then, with its evidence."),
    ("ledger", "cs.cli.ledger:show_ledger", "What became of a key's quota, search by search."),
    ("report", "cs.cli.report:report", "A period in figures, as tables or a page."),
    ("compare", "cs.cli.compare:compare", "Who joined, left or changed between two lookups."),
    ("replay", "cs.cli.replay:app", "What other rules would have done with the history."),
    ("log", "cs.cli.log:app", "Check the event log."),
    ("master-key", "cs.cli.master_key:app", "Change the master key while the service runs."),
    ("db", "cs.cli.db:app", "Bring PostgreSQL databases up to this version."),
    ("backup", "cs.cli.backup:backup", "Copy the data away, beside a running service."),
    ("restore", "cs.cli.backup:restore", "Bring a backup back into an empty folder."),
    ("config", "cs.cli.config:app", "See and check the settings."),
    ("completion", "cs.cli.completion:completion", "Completion for bash, zsh or fish."),
)

#: Commands that write no log: they start sooner without what writes one.
WITHOUT_LOG = frozenset({"search", "get", "usage", "new", "completion"})
#: The command whose last word is a number that may be negative.
GRANT = ("keys", "grant")


def build(words: Sequence[str]) -> App:
    """Return the command for the command line *words*."""
    called = _called(words) is not None
    app = App(
        name="cs",
        version=_version,
        help="A brand in, the people who run its influencer marketing out, "
        "with verified work e-mails only.\n\n"
        "Start with `cs demo`. Every command has --help.",
        print_error=False,
        exit_on_error=False,
        verbose=False,
        help_epilogue=epilogue(words) if called else None,
    )
    # The short line is for the list; a command's own --help has its docstring instead.
    for name, place, line in COMMANDS:
        app.command(place, name=name, help=None if called else line)
    return app


def _called(words: Sequence[str]) -> str | None:
    """Return the command that the command line *words* calls; ``None``: only `cs` itself."""
    names = {name for name, _, _ in COMMANDS}
    return next((word for word in words if word in names), None)


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("contact-search")


def _without_dashes(words: Sequence[str]) -> Sequence[str]:
    """Return *words* without a ``--`` that would make words of the options behind it.

    `cs keys grant KEY -- -500 --data-dir DIR` is how a negative number is written to many
    other programs; here it needs no ``--``.
    """
    return [word for word in words if word != "--"] if tuple(words[:2]) == GRANT else words


def main(words: Sequence[str] | None = None) -> None:
    """Run the command *words*; those of this process if ``None``.

    What a user can mend is described in a sentence: exit code 1, 2 for a mistake on the
    command line or in the settings; 130 after Ctrl-C.
    """
    words = sys.argv[1:] if words is None else words
    try:
        if _called(words) not in {None, *WITHOUT_LOG}:
            from cs.runtime import logs  # noqa: PLC0415

            logs.configure("warning", "console")  # `cs serve` has settings for it
        build(words)(_without_dashes(words))
    except SystemExit:
        raise
    except BaseException as error:
        from cs.cli.ending import end  # noqa: PLC0415

        end(error)
        raise
