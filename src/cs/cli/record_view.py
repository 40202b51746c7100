"""A Search record on a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from cs.cli.output import Table, all_harmless, console, print_parts, styled

#: Columns of a terminal that has room for the location.
WIDE = 100

_BRAND = (
    ("domain", "Web site"),
    ("linkedin_company_url", "LinkedIn"),
    ("instagram", "Instagram"),
    ("tiktok", "TikTok"),
    ("parent_company", "Parent company"),
)
#: What each reason of a failed search asks of the caller (contract text 7).
ADVICE = {
    "no_linkedin": "the company could not be pinned down; a full name or a domain may help",
    "no_contacts": "the company was found, but nobody in a marketing role",
    "no_emails": "people were found, but no e-mail could be verified for any",
    "scrape_error": "a service we ask did not answer; try again in a few minutes",
    "timeout": "it took too long; try again in a few minutes",
    "error": "the service could not do its part; said again after a few minutes, it is for "
    "its operator to mend",
}


def record_lines(record: dict[str, Any]) -> Iterator[str | Text | Table]:
    """Yield the facts about the brand, then the people, verified ones first."""
    record = all_harmless(record)
    yield Text("  ").join([styled("[bold]{}[/]", record["brand"]), _status(record)])
    for field, label in _BRAND:
        if record.get(field):
            yield f"  {label:<15}{record[field]}"
    if contacts := record.get("contacts"):
        yield _people(contacts)
    usage = record["usage"]
    line = "[dim]{}  used {} of {} searches, {} left[/]"
    yield styled(line, record["id"], *(usage[n] for n in ("used", "quota", "remaining")))


def print_record(record: dict[str, Any]) -> None:
    """Print `record_lines`."""
    print_parts(record_lines(record))


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
    rows = []
    for contact in contacts:
        verified = contact.get("email_status") == "verified"
        cells = [
            Text(contact.get("full_name") or ""),
            Text(contact.get("title") or ""),
            Text(contact.get("email") or "", "green") if verified else Text("not found", "dim"),
            Text(contact.get("location") or ""),
        ]
        rows.append(cells[: len(columns)])
    return Table(columns, rows, ["Name", "Title", "Where"])
