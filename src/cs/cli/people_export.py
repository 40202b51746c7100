"""``cs people export``: everything held on a person, as the law lets them ask for it."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import check_new, console, harmless, json_line, stop, write_new
from cs.cli.person_data import fingerprint_of, open_person_data
from cs.cli.person_report import person_report
from cs.cli.person_view import person_lines
from cs.cli.revealing import check_reason

#: Why, unless --reveal says otherwise.
ARTICLE_15 = "Asked for by the person, GDPR article 15"


@on_data
async def export(
    call: Invocation,
    *,
    email: Annotated[str | None, Parameter(help="A work e-mail of theirs.")] = None,
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None,
    out: Annotated[
        Path | None, Parameter(help="Into this file, which must not be there; else printed.")
    ] = None,
    reveal: Annotated[
        str, Parameter(help="Why; stored with your name before anything is shown.")
    ] = ARTICLE_15,
) -> Output:
    """Show everything that is held on a person, as the law lets them ask for it.

    Every lookup that found them, when, for which brand and from which sources; what was
    stored, with every verdict and conversation with a mail server; which searches were
    answered with them, and whose; until when it is kept; who opened their data before. That
    you did is stored first. Somebody else's record that shares only an address or a name is
    not shown.

    Example: `cs people export --profile https://www.linkedin.com/in/jane-doe-1a2b --json`
    """
    print_of = fingerprint_of(email, profile)
    if print_of is None:
        stop("name the person by --email or by --profile, one of the two", 2)
    check_reason(reveal)
    if out is not None:
        check_new(out)
    settings = call.settings()
    at = await call.opened(open_person_data(settings))
    found = await person_report(settings, at, print_of, reveal, out)
    lines = [harmless(line) for line in person_lines(found)]
    if out is None:
        return Output(rows=[found], text=lines)
    write_new(out, json_line(found) if call.json else "\n".join([*lines, ""]).encode())
    records = "1 record" if len(found.records) == 1 else f"{len(found.records)} records"
    console.print(f"{records} written to {out}")
    return Output()
