"""Everything that is held on one person, as people read it: one line of text after another."""

from collections.abc import Iterator, Mapping

from cs.cli.person_report import PersonExport
from cs.domain.contact import Contact, Person
from cs.domain.mail.mailbox import Evidence
from cs.history.person import AnsweredSearch, PersonRecord
from cs.history.runs import MailboxBounce, MailboxCheck
from cs.projections.searches import instant

_PERSON: Mapping[str, str] = {
    "full_name": "Name",
    "first_name": "First name",
    "last_name": "Last name",
    "headline": "Headline",
    "company": "Company",
    "linkedin_url": "Profile",
    "location": "Place",
}
_DIRECTORY: Mapping[str, str] = {
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
_CONTACT: Mapping[str, str] = {
    "title": "Title",
    "email": "E-mail",
    "email_source": "Verified by",
}


def person_lines(found: PersonExport) -> Iterator[str]:
    """Yield the lines of *found*, which come from anywhere: each is one line of a terminal."""
    yield f"Held on this person at {instant(found.at)}, up to position {found.position}"
    yield ""
    if not found.known:
        yield "Nothing is held on this person."
    if found.pseudonym is not None:
        yield f"Exports without names call them {found.pseudonym}."
    if found.suppressed:
        since = found.suppressed_since
        when = "" if since is None else f" since {instant(since)}"
        yield f"They are kept out of later searches{when}: a keyed hash of how they were named."
    for number, record in enumerate(found.records, 1):
        yield ""
        yield f"{number}. {record.name}"
        yield from (f"   {line}" for line in _record(record))
    for lookup in found.unread:
        yield ""
        yield f"{lookup} holds something of them that cannot be read: it is damaged."
    yield ""
    yield from _disclosures(found)
    yield from _paid_calls(found)
    yield from _in_directory(found)


def _record(record: PersonRecord) -> Iterator[str]:  # noqa: C901 - one branch for each field
    asked = [text for text in (record.query.brand, record.query.domain) if text]
    matched = "" if record.brand is None else f", matched {record.brand}"
    yield _field("Searched", " ".join(asked) + matched)
    named = ", ".join(record.person.found.sources)
    yield _field("Found", f"{instant(record.person.at)} by {named or 'an unnamed source'}")
    if record.sources:
        ended = ", ".join(f"{name} {how}" for name, how in record.sources.items())
        yield _field("Sources asked", ended)
    yield from _fields(record.person.found, _PERSON)
    if record.person.found.addresses:
        yield _field("Named", f"{', '.join(record.person.found.addresses)} (not proved by it)")
    if record.person.ranked is not None:
        ranked = record.person.ranked
        role = f"{ranked.title}: {ranked.family}, {ranked.level}, score {ranked.score:g}"
        yield _field("Role", f"{role}, place {record.person.place}")
    elif record.person.left_out is not None:
        yield _field("Role", f"none: {record.person.left_out}")
    if record.person.opinion is not None:
        said = record.person.opinion
        read = f"{said.title or 'no title'}: {said.family}, {said.level}"
        yield _field("Opinion", f"{read}; by {said.model}, the rules: {', '.join(said.doubts)}")
    for check in record.person.checks:
        yield from _mailbox(check)
    if record.person.bounced is not None:
        yield _bounce(record.person.bounced)
    if record.contact is not None:
        yield from _fields(record.contact, _CONTACT)
    if not record.answered:
        yield _field("Answered", "to no search")
    for search in record.answered:
        yield _field("Answered", _search(search))
    yield _field("Lookup", record.outcome or "runs still")
    if record.kept_until is not None:
        yield _field("Kept until", f"{instant(record.kept_until)}, unless a search returns it")


def _fields(value: Person | Contact, labels: Mapping[str, str]) -> Iterator[str]:
    for field, label in labels.items():
        if text := getattr(value, field):
            yield _field(label, text)


def _field(label: str, text: str) -> str:
    return f"{label:<14} {text}"


def _mailbox(check: MailboxCheck) -> Iterator[str]:
    checked = check.checked
    proved = f", {checked.address} verified by {checked.verifier}" if check.verified else ""
    at = f"{instant(check.at)} at {checked.mail_domain}"
    yield _field("Mailbox", f"{checked.verdict.value}{proved}, {at}")
    for evidence in checked.evidence:
        yield from (f"  {line}" for line in _evidence(evidence))


def _bounce(bounce: MailboxBounce) -> str:
    said = f": {bounce.diagnostic}" if bounce.diagnostic else ""
    return _field(
        "Came back",
        f"mail to {bounce.address}, {instant(bounce.bounced_at)}, "
        f"{bounce.status or 'no code'}, {bounce.why}{said}",
    )


def _evidence(evidence: Evidence) -> Iterator[str]:
    asked = "" if evidence.mx is None else f", asked {evidence.mx}"
    yield (
        f"{evidence.address}: {evidence.verdict.value}, {evidence.reason}; "
        f"{evidence.verifier} at {instant(evidence.at)}{asked}"
    )
    for line in evidence.conversation:
        yield f"  {line.at_ms:>6} ms {line.who}: {line.text}"


def _search(search: AnsweredSearch) -> str:
    whose = search.key if search.key_label is None else f"{search.key_label} ({search.key})"
    how = [search.outcome]
    if search.reused:
        how.append("from reuse")
    if search.charged:
        how.append("charged")
    brand = "" if search.brand is None else f" for {search.brand}"
    return f"{instant(search.at)} to {whose}{brand}: {search.search}, {', '.join(how)}"


def _disclosures(found: PersonExport) -> Iterator[str]:
    if found.disclosures is None:
        yield "Who opened their data before cannot be told: some of the log is damaged."
    elif not found.disclosures:
        yield "No operator opened their data before."
    else:
        yield "Operators may have opened their data before:"
    for each in found.disclosures or ():
        into = f" into {each.file}" if each.file else ""
        yield f"   {instant(each.at)} {each.by or '?'}: {each.command}{into}: {each.why}"


def _in_directory(found: PersonExport) -> Iterator[str]:
    if found.directory is None:
        yield "Your own directory is not looked into: no stages_postgres, or not its key."
    for person in found.directory or ():
        yield ""
        yield "In your own directory"
        for field, label in _DIRECTORY.items():
            if text := getattr(person, field):
                yield f"   {_field(label, str(text))}"


def _paid_calls(found: PersonExport) -> Iterator[str]:
    if found.paid_calls is None:
        yield "Answers that providers were paid for are not looked for: no stages_postgres."
    for call in found.paid_calls or ():
        minutes = max(round(call.left_s / 60), 0)
        what = "An answer" if call.answered else "A question"
        yield (
            f"{what} of the provider {call.provider} for {call.lookup} is remembered, sealed, "
            f"for {minutes} minutes yet."
        )
