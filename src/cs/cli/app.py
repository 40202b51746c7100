"""The ``cs`` command: its groups.

``cs --help`` is as slow as the imports here, so nothing of the service is imported: the module
of a command is imported when the command is called, and `cs.cli.errors` when there is an error.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from cyclopts import App, Group, Parameter

#: The commands of each group of `cs --help`: name, place, and line.
GROUPS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "Try it": (
        ("demo", "cs.cli.demo:demo", "Start everything with a made-up world and search once"),
        ("sandbox", "cs.cli.sandbox:app", "Run a made-up world for several processes"),
    ),
    "Search": (
        ("search", "cs.cli.search:search", "Search the people of a brand, or of a list"),
        ("get", "cs.cli.search:get", "Read a search again"),
        ("usage", "cs.cli.search:usage", "Show the quota and use of an API key"),
    ),
    "History": (
        ("searches", "cs.cli.searches:app", "Show past searches with their evidence"),
        (
            "ledger",
            "cs.cli.searches:show_ledger",
            "Show the charges of a key, search by search",
        ),
        ("report", "cs.cli.report:report", "Report a period: results, costs, failures"),
        ("compare", "cs.cli.report:compare", "Compare two runs of a brand"),
        ("state", "cs.cli.searches:state", "Show a key, brand or mail domain at any time"),
        ("events", "cs.cli.events:app", "Show, follow and export events"),
        ("replay", "cs.cli.replay:app", "Apply other rules to past runs"),
    ),
    "Operate": (
        ("serve", "cs.cli.serve:serve", "Run the service in one process"),
        ("status", "cs.cli.log:status", "Show the state of the service"),
        ("doctor", "cs.cli.config:doctor", "Check all that searches need"),
        ("keys", "cs.cli.operator:keys", "Create, list and revoke API keys; grant quota"),
        ("operators", "cs.cli.console:app", "Create, list and revoke users of the console"),
        ("pause", "cs.cli.operator:pause", "Refuse new searches"),
        ("resume", "cs.cli.operator:resume", "Accept new searches again"),
        ("brands", "cs.cli.operator:brands", "Import, list and forget brands"),
        ("directory", "cs.cli.directory:app", "Import and manage your own people"),
        ("mailboxes", "cs.cli.imports:mailboxes", "Import bounces"),
        ("people", "cs.cli.people:app", "Erase, suppress or export a person"),
        ("backup", "cs.cli.backup:backup", "Back up the data folder"),
        ("restore", "cs.cli.backup:restore", "Restore a backup into an empty folder"),
        ("log", "cs.cli.log:app", "Verify the event log; show what operators did"),
        ("master-key", "cs.cli.backup:master_key", "Change the master key"),
        ("config", "cs.cli.config:app", "Show and check the settings"),
        ("db", "cs.cli.cluster:db", "Migrate PostgreSQL databases"),
        ("topics", "cs.cli.cluster:topics", "Create, show and describe Kafka topics"),
        ("completion", "cs.cli.app:completion", "Print completion for a shell"),
    ),
    "Extend": (
        ("sources", "cs.cli.stages:sources", "Check the sources of brands and people"),
        ("verifiers", "cs.cli.stages:verifiers", "Check the verifiers of mailboxes"),
        ("resolve", "cs.cli.stages:resolve", "Find a brand's web site and profiles"),
        ("people-source", "cs.cli.stages:people_source", "Ask one people source"),
        ("classify", "cs.cli.stages:classify", "Read the role in a headline"),
        ("verify", "cs.cli.stages:verify", "Verify mailboxes"),
        ("new", "cs.cli.new:app", "Write a source, a verifier or a stage of your own"),
    ),
    "Roles": (
        ("api", "cs.cli.roles:api", "Answer calls"),
        ("relay", "cs.cli.roles:relay", "Publish work to Kafka"),
        ("process-manager", "cs.cli.roles:process_manager", "Drive lookups to their end"),
        ("project", "cs.cli.roles:project", "Keep the views up to date"),
        ("stage", "cs.cli.roles:stage", "Work for one stage"),
        ("console", "cs.cli.console:console", "Show the console"),
    ),
}
COMMANDS = tuple(command for commands in GROUPS.values() for command in commands)

#: Exit codes of the commands that search.
FAILED, LIMITED, NO_QUOTA = 3, 4, 5

#: Exit codes of every command that `_OF` does not change.
GENERAL: Mapping[int, str] = {
    0: "done",
    1: "it could not be done, or what was checked is not as it should be",
    2: "a mistake on the command line or in the settings",
    130: "ended by Ctrl-C",
}
_REFUSED = {LIMITED: "refused by a limit", NO_QUOTA: "out of quota"}
_RUNS = {0: "ended by SIGTERM or Ctrl-C", 1: "it cannot run, or cannot go on"}
_OF: Mapping[str, Mapping[int, str]] = {
    "search": {
        0: "done, or running with --no-wait",
        1: "another error, or brands of a list are left",
        FAILED: "failed, or ended in a status that this version does not know",
        **_REFUSED,
    },
    "get": _REFUSED,
    "usage": _REFUSED,
    **dict.fromkeys(("serve", *(name for name, _, _ in GROUPS["Roles"])), _RUNS),
}

#: Commands that write no log, and start sooner without its libraries.
WITHOUT_LOG = frozenset({"search", "get", "usage", "new", "completion"})


def codes_of(command: str) -> dict[int, str]:
    return dict(sorted({**GENERAL, **_OF.get(command, {})}.items()))


def _epilogue(command: str) -> str:
    """Return the lines below the help of *command*."""
    lines = (f"{code} {meaning}" for code, meaning in codes_of(command).items())
    return "Exit codes: " + "; ".join(lines) + "."


def build(words: Sequence[str]) -> App:
    """Return the command for the command line *words*."""
    called = _called(words)
    app = App(
        name="cs",
        version=_version,
        help="A brand in, the people who run its influencer marketing out, "
        "with verified work e-mails only.\n\n"
        "Start with `cs demo`. Every command has --help.",
        print_error=False,
        exit_on_error=False,
        verbose=False,
        help_epilogue=_epilogue(called) if called else None,
        default_parameter=Parameter(negative=""),
    )
    # The short line is for the list; a command's own --help has its docstring instead.
    for place, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        for n, (name, module, line) in enumerate(commands):
            help_ = None if called else line
            app.command(module, name=name, help=help_, group=group, sort_key=n)
    return app


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Which shell.")], /
) -> None:
    """Print a script that lets a shell complete commands and options.

    bash: `source <(cs completion bash)` in ~/.bashrc. fish: into
    ~/.config/fish/completions/cs.fish. zsh: into a file `_cs` in a folder of `$fpath`.

    Example: `cs completion bash > /etc/bash_completion.d/cs`
    """
    from cs.cli.output import print_bytes  # noqa: PLC0415

    print_bytes(build(["--help"]).generate_completion(shell=shell).encode())


def _called(words: Sequence[str]) -> str | None:
    names = {name for name, _, _ in COMMANDS}
    return next((word for word in words if word in names), None)


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("contact-search")


def main(words: Sequence[str] | None = None) -> None:
    """Run the command *words*, by default those of this process.

    An error that a user can fix is described in a sentence: exit code 1, 2 for a mistake on
    the command line or in the settings; 130 after Ctrl-C.
    """
    words = sys.argv[1:] if words is None else words
    try:
        if _called(words) not in {None, *WITHOUT_LOG}:
            from cs.runtime import logs  # noqa: PLC0415

            logs.configure("warning", "console")  # `cs serve` has settings for it
        try:
            build(words)(words)
        finally:
            sys.stdout.flush()  # a full disk is noticed here, while it can be reported
    except SystemExit:
        raise
    except BaseException as error:
        from cs.cli.errors import end  # noqa: PLC0415

        end(error, words)
        raise
