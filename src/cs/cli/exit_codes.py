"""What each command's exit code means: the one place that says so, shown by ``--help``."""

from collections.abc import Mapping, Sequence

#: Exit codes of the commands that search.
FAILED, LIMITED, NO_QUOTA = 3, 4, 5

#: Of every command, unless it says otherwise below.
GENERAL: Mapping[int, str] = {
    0: "done",
    1: "it could not be done, and one sentence says why",
    2: "a mistake on the command line or in the settings",
    130: "ended by Ctrl-C",
}
_REFUSED = {LIMITED: "refused by a limit", NO_QUOTA: "out of quota"}
_RUNS = {
    0: "ended by SIGTERM or Ctrl-C",
    1: "it cannot run, or cannot go on",
    130: "ended by a signal while it started",
}
_LINES = {1: "a line was bad, or it could not be done"}
_OF: Mapping[tuple[str, ...], Mapping[int, str]] = {
    ("search",): {
        0: "done, or running with --no-wait",
        1: "another error, or brands of a list are left",
        FAILED: "failed, or ended in a status that this version does not know",
        **_REFUSED,
    },
    ("get",): _REFUSED,
    ("usage",): _REFUSED,
    **{(name,): _RUNS for name in ("serve", "api", "relay", "process-manager", "project")},
    ("stage",): _RUNS,
    **{(name,): _LINES for name in ("resolve", "classify", "verify")},
    ("people-source", "try"): {1: "the source could not answer, and one sentence says why"},
    ("sandbox", "run"): _RUNS,
    ("sandbox", "prove"): {1: "something ended otherwise than the world intends"},
    ("doctor",): {1: "a check failed, or the settings cannot be used"},
    ("sources", "check"): {1: "a source failed, or the settings cannot be used"},
    ("verifiers", "check"): {1: "a verifier failed, or the settings cannot be used"},
    ("log", "verify"): {1: "a promise is broken, or the log cannot be read"},
    ("topics", "show"): {1: "a topic is missing, or Kafka does not answer"},
    ("topics", "describe"): {1: "the older document is not served any more"},
    ("db", "migrate"): {1: "with --check, a database is behind, or it could not be done"},
    ("mailboxes", "bounced"): {1: "a row was bad, or could not be recorded"},
    ("people", "suppressed"): {1: "the person asked about is not suppressed"},
}


def codes_of(command: Sequence[str]) -> dict[int, str]:
    """Return the exit codes of *command*, ``["log", "verify"]``, ascending."""
    own = _OF.get(tuple(command), {})
    return dict(sorted({**GENERAL, **own}.items()))


def epilogue(words: Sequence[str]) -> str:
    """Return the lines below the help of the command that the command line *words* calls."""
    named = [word for word in words if not word.startswith("-")]
    command = next((named[:n] for n in (2, 1) if tuple(named[:n]) in _OF), named[:1])
    lines = (f"{code} {meaning}" for code, meaning in codes_of(command).items())
    return "Exit codes: " + "; ".join(lines) + "."
