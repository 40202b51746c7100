"""``cs people export``: everything held on a person, as the law lets them ask for it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text

from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import check_new, console, harmless, json_line, write_new
from cs.cli.page_text import sections_text
from cs.cli.person_data import NOBODY, Named, open_person_data
from cs.cli.person_report import PersonExport, person_report
from cs.cli.revealing import check_reason
from cs.history.pages import Section
from cs.history.person import AnsweredSearch, PersonRecord
from cs.history.runs import RunPerson
from cs.history.search_page import conversation
from cs.projections.searches import instant

#: Why, unless --reveal says otherwise.
ARTICLE_15 = "Asked for by the person, GDPR article 15"
#: Fields of a person as found, as answered, and of the own directory, by their label.
_PERSON = {
    "full_name": "Name",
    "first_name": "First name",
    "last_name": "Last name",
    "headline": "Headline",
    "company": "Company",
    "linkedin_url": "Profile",
    "location": "Place",
}
_CONTACT = {"title": "Title", "email": "E-mail", "email_source": "Verified by"}
_DIRECTORY = {
    "full_name": "Name",
    "first_name": "First name",
    "last_name": "Last name",
    "title": "Title",
    "headline": "Headline",
    "company": "Company",
    "domain": "Web site",
    "profile": "Profile",
    "email": "E-mail",
    "location": "Place",
    "language": "Language",
    "note": "Note",
    "as_of": "Known of",
}

Fact = tuple[str, str | None]


@on_data
async def export(
    call: Invocation,
    *,
    named: Named = NOBODY,
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
    print_of = named.print_of
    check_reason(reveal)
    if out is not None:
        check_new(out)
    settings = call.settings()
    at = await call.opened(open_person_data(settings))
    found = await person_report(settings, at, print_of, reveal, out)
    # What it says comes from anywhere: each is one line of a terminal.
    parts = [*_lead(found), *sections_text(_sections(found), folded=True)]
    shown = [harmless(part) if isinstance(part, str) else part for part in parts]
    if out is None:
        return Output(rows=[found], text=shown)
    lines = [part.plain if isinstance(part, Text) else str(part) for part in shown]
    write_new(out, json_line(found) if call.json else "\n".join([*lines, ""]).encode())
    records = "1 record" if len(found.records) == 1 else f"{len(found.records)} records"
    console.print(f"{records} written to {out}")
    return Output()


def _lead(found: PersonExport) -> Iterator[str]:
    yield f"Held on this person at {instant(found.at)}, up to position {found.position}"
    if not found.known:
        yield "Nothing is held on this person."
    if found.pseudonym is not None:
        yield f"Exports without names call them {found.pseudonym}."
    if found.suppressed:
        since = found.suppressed_since
        when = "" if since is None else f" since {instant(since)}"
        yield f"They are kept out of later searches{when}: a keyed hash of how they were named."
    for lookup in found.unread:
        yield f"{lookup} holds something of them that cannot be read: it is damaged."
    if found.disclosures is None:
        yield "Who opened their data before cannot be told: some of the log is damaged."
    elif not found.disclosures:
        yield "No operator opened their data before."
    if found.paid_calls is None:
        yield "Answers that providers were paid for are not looked for: no stages_postgres."
    for call in found.paid_calls or ():
        what = "An answer" if call.answered else "A question"
        yield (
            f"{what} of the provider {call.provider} for {call.lookup} is remembered, sealed, "
            f"for {max(round(call.left_s / 60), 0)} minutes yet."
        )
    if found.directory is None:
        yield "Your own directory is not looked into: no stages_postgres, or not its key."


def _sections(found: PersonExport) -> Iterator[Section]:
    for number, record in enumerate(found.records, 1):
        yield Section(
            heading=f"{number}. {record.name}",
            facts=[*_facts(record)],
            folded=[
                (f"{tried.address}: {tried.verdict.value}", conversation(check, tried))
                for check in record.person.checks
                for tried in check.checked.evidence
            ],
        )
    if found.disclosures:
        yield Section(
            heading="Operators may have opened their data before",
            facts=[
                (instant(each.at), f"{each.by or '?'}: {each.command}: {each.why}" + into)
                for each in found.disclosures
                for into in (f", into {each.file}" if each.file else "",)
            ],
        )
    for person in found.directory or ():
        yield Section(heading="In your own directory", facts=[*_fields(person, _DIRECTORY)])


def _facts(record: PersonRecord) -> Iterator[Fact]:
    person, found = record.person, record.person.found
    asked = " ".join(filter(None, (record.query.brand, record.query.domain)))
    yield "Searched", asked + ("" if record.brand is None else f", matched {record.brand}")
    yield "Found", f"{instant(person.at)} by {', '.join(found.sources) or 'an unnamed source'}"
    sources = ", ".join(f"{name} {how}" for name, how in record.sources.items())
    yield "Sources asked", sources or None
    yield from _fields(found, _PERSON)
    named = ", ".join(found.addresses)
    yield "Named", f"{named} (not proved by it)" if named else None
    yield from _read_of(person)
    yield from _fields(record.contact, _CONTACT)
    for search in record.answered:
        yield "Answered", _answered(search)
    yield "Answered", None if record.answered else "to no search"
    yield "Lookup", record.outcome or "runs still"
    if record.kept_until is not None:
        yield "Kept until", f"{instant(record.kept_until)}, unless a search returns it"


def _read_of(person: RunPerson) -> Iterator[Fact]:
    if (ranked := person.ranked) is not None:
        role = f"{ranked.title}: {ranked.family}, {ranked.level}, score {ranked.score:g}"
        yield "Role", f"{role}, place {person.place}"
    elif person.left_out is not None:
        yield "Role", f"none: {person.left_out}"
    if (said := person.opinion) is not None:
        read = f"{said.title or 'no title'}: {said.family}, {said.level}"
        yield "Opinion", f"{read}; by {said.model}, the rules: {', '.join(said.doubts)}"
    for check in person.checks:
        checked = check.checked
        proved = f", {checked.address} verified by {checked.verifier}" if check.verified else ""
        at = f"{instant(check.at)} at {checked.mail_domain}"
        yield "Mailbox", f"{checked.verdict.value}{proved}, {at}"
    if (bounce := person.bounced) is not None:
        why = f"{instant(bounce.bounced_at)}, {bounce.status or 'no code'}, {bounce.why}"
        said_then = f": {bounce.diagnostic}" if bounce.diagnostic else ""
        yield "Came back", f"mail to {bounce.address}, {why}{said_then}"


def _fields(value: object, labels: Mapping[str, str]) -> Iterator[Fact]:
    for field, label in labels.items():
        if said := getattr(value, field, None):
            yield label, str(said)


def _answered(search: AnsweredSearch) -> str:
    whose = search.key if search.key_label is None else f"{search.key_label} ({search.key})"
    reused = ", from reuse" if search.reused else ""
    charged = ", charged" if search.charged else ""
    brand = "" if search.brand is None else f" for {search.brand}"
    told = f"{search.search}, {search.outcome}{reused}{charged}"
    return f"{instant(search.at)} to {whose}{brand}: {told}"
