"""A Search record of the API, on a terminal and as rows; an error of a call, as a sentence."""

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.text import Text

from cs.cli.app import LIMITED, NO_QUOTA
from cs.cli.output import Table, console, csv_cell, facts, harmless, styled
from cs.client import (
    ClientError,
    Contact,
    QuotaExceeded,
    Running,
    Search,
    TooManyRequests,
    Unavailable,
)
from cs.runtime.durations import in_words

#: Columns of a terminal that has room for the location.
WIDE = 100

_SEARCH = ("id", "status", "reason", "cached", "charged", "searched_at")
_BRAND = {
    "domain": "Web site",
    "linkedin_company_url": "LinkedIn",
    "parent_company": "Parent company",
    "instagram": "Instagram",
    "tiktok": "TikTok",
}
_PERSON = tuple(name for name in Contact.__struct_fields__ if name != "extras")
#: Columns of `rows`.
COLUMNS = ("brand", *_SEARCH, *(f"brand_{field}" for field in _BRAND), *_PERSON)
#: Advice for each reason of a failed search (contract text 7).
ADVICE = {
    "no_linkedin": "the company could not be pinned down; a full name or a domain may help",
    "no_contacts": "the company was found, but no person in a marketing role",
    "no_emails": "people were found, but no e-mail could be verified for any",
    "scrape_error": "a service we ask did not answer; try again in a few minutes",
    "timeout": "it took too long; try again in a few minutes",
    "error": "the service could not do its part; if it still fails in a few minutes, its "
    "operator has to repair it",
}


def record_lines(record: dict[str, Any]) -> Iterator[str | Text | Table]:
    """Yield the facts about the brand, then the people, verified ones first."""
    yield Text("  ").join([styled("[bold]{}[/]", record["brand"]), _status(record)])
    yield from facts((label, record.get(field)) for field, label in _BRAND.items())
    if contacts := record.get("contacts"):
        yield _people(contacts)
    usage = record["usage"]
    line = "[dim]{}  used {} of {} searches, {} left[/]"
    yield styled(line, record["id"], *(usage[n] for n in ("used", "quota", "remaining")))


def rows(search: Search) -> list[list[str]]:
    """Return a row for each contact; one without a person if there are none."""
    fields = msgspec.to_builtins(search)
    fields["status"] = search.status
    ahead = [csv_cell(fields.get(field)) for field in ("brand", *_SEARCH, *_BRAND)]
    people = () if isinstance(search, Running) else search.contacts
    found = [[csv_cell(getattr(person, field)) for field in _PERSON] for person in people]
    return [[*ahead, *cells] for cells in found or [[""] * len(_PERSON)]]


def _status(record: dict[str, Any]) -> Text:
    if record["status"] == "running":
        return styled("[yellow]running[/], ask again: cs get {}", record["id"])
    how = _how(record)
    match record["status"]:
        case "done":
            return styled("[green]done[/]{}", how)
        case "failed":
            reason = record["reason"]
            advice = ADVICE.get(reason, "a reason that this version does not know")
            return styled("[red]{}[/]: {}{}", reason, advice, how)
        case unknown:
            text = "[yellow]{}[/], a status that this version does not know{}"
            return styled(text, unknown, how)


def _how(record: dict[str, Any]) -> str:
    """Return in brackets how it was searched, as far as the record has it."""
    words: dict[str, dict[bool | None, str]] = {
        "cached": {True: "from reuse", False: "searched live"},
        "charged": {True: "1 search charged", False: "not charged"},
    }
    said = [says.get(record.get(field)) for field, says in words.items()]
    remarks = ", ".join(word for word in said if word)
    return f" ({remarks})" if remarks else ""


def _people(contacts: list[dict[str, Any]]) -> Table:
    # Addresses are there to be copied: other columns fold, this one does not.
    columns = ("Name", "Title", "E-mail", "Where")[: 4 if console.width >= WIDE else 3]
    cells = []
    for contact in contacts:
        verified = contact.get("email_status") == "verified"
        style = "[green]{}[/]" if verified else "[dim]not found[/]"
        row = [
            contact.get("full_name") or "",
            contact.get("title") or "",
            styled(style, contact.get("email") or ""),
            contact.get("location") or "",
        ]
        cells.append(row[: len(columns)])
    return Table(columns, cells, ["Name", "Title", "Where"])


def exit_code(error: ClientError) -> int:
    """Return the exit code of the command after *error*."""
    match error:
        case QuotaExceeded():
            return NO_QUOTA
        case TooManyRequests() | Unavailable():
            return LIMITED
        case _:
            return 1


def describe(error: ClientError) -> str:
    """Return *error* as one sentence."""
    wait = f" (try again in {in_words(error.retry_after_s)})" if error.retry_after_s else ""
    return f"{harmless(error.code)}: {harmless(str(error))}{wait}"
