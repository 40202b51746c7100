"""A search with its evidence as sections, for a page or a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from cs.domain.mail.mailbox import Evidence
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.pages import Page, Section, table, text
from cs.history.redacting import HIDDEN, reply_to
from cs.history.runs import MailboxCheck, Run, RunAttempt, RunPerson, SourceUse
from cs.history.searches import SearchAt
from cs.history.words import (
    KEPT,
    OUTCOMES,
    REASONS,
    cause_in_words,
)
from cs.projections.searches import instant
from cs.runtime.durations import in_words

_HIDDEN_NOTE = (
    "People are hidden: their names, their addresses and the replies of mail servers are not "
    "in this page."
)
_OPEN_NOTE = (
    "This page shows people in clear. Keep it no longer than it is needed, where only people "
    "with permission can read it."
)
#: Fields of the record that are facts of the answer.
_ANSWER = {
    "status": "Status",
    "searched_at": "Searched at",
    "domain": "Web site",
    "linkedin_company_url": "LinkedIn",
    "parent_company": "Parent company",
    "instagram": "Instagram",
    "tiktok": "TikTok",
}
#: Fields of a contact that its full name has.
_PARTS = ("first_name", "last_name")


def search_page(search: SearchAt) -> Page:
    """Return *search* as a page; redact it first unless people may be seen."""
    record = msgspec.json.decode(search.record)
    run = search.run
    return Page(
        title=str(record["brand"]),
        lead=f"Search {search.search} as of position {search.position}",
        notes=[_HIDDEN_NOTE if search.is_redacted else _OPEN_NOTE, *_erased(search)],
        sections=[
            _answer(record),
            _search(search),
            *(() if run is None else _run_sections(search, run)),
        ],
        foot=f"Made of the event log up to position {search.position}, by cs searches show.",
    )


def _erased(search: SearchAt) -> Iterator[str]:
    for each in search.erased_since:
        why = "no search had returned them for long" if each.aged_out else "on request"
        yield (
            f"People of this run who were erased since, on {instant(each.at)} (position "
            f"{each.position}, {why}): {each.people}. Nothing of them is left."
        )


def _answer(record: Mapping[str, Any]) -> Section:
    usage = record["usage"]
    facts = [(label, record[name]) for name, label in _ANSWER.items() if record.get(name)]
    if "reason" in record:
        facts.insert(1, ("Why", _outcome(record["reason"])))
    facts += [
        ("Charged", text(record.get("charged"))),
        ("Reused from an earlier run", text(record.get("cached"))),
        ("Usage of the key", "{used} of {quota}, {remaining} left".format(**usage)),
    ]
    contacts = [
        {_head(name): value for name, value in each.items() if name not in _PARTS}
        for each in record.get("contacts", ())
    ]
    as_json = msgspec.json.format(msgspec.json.encode(record)).decode()
    return table("The answer", contacts, facts=facts, folded=[("The record as JSON", as_json)])


def _search(search: SearchAt) -> Section:
    admitted, settled = search.admitted, search.settled
    facts: list[tuple[str, str | None]] = [
        ("Key", search.key),
        ("Asked for", f"{instant(admitted.at)}, position {search.admitted_position}"),
        ("Request", admitted.request or NOT_RECORDED),
        ("Taken by", cause_in_words(search.admitted_caused_by)),
        ("Repeated while it ran", f"{search.repeated} times"),
    ]
    if settled is not None:
        facts += [
            ("Settled", f"{instant(settled.at)}, position {search.settled_position}"),
            ("Settled by", cause_in_words(search.settled_caused_by)),
            ("Settled after", _between(admitted.at, settled.at)),
        ]
    return Section(heading="The search", facts=facts)


def _run_sections(search: SearchAt, run: Run) -> Iterator[Section]:
    yield _run(run, reused=search.reused)
    yield _stages(run)
    yield table(
        "Sources and verifiers asked",
        (
            {
                "Stage": f"{each.stage} {each.item}".strip(),
                "Asked": each.name,
                "Ended": each.ended,
                "Questions": each.questions,
                "Paid calls": each.calls,
                "Money": each.cost,
                "Expected per e-mail": each.expected,
                "Why not": each.why,
            }
            for each in search.asked
        ),
        about=f"Cost in money: {cost_in_words(search.asked)}.",
    )
    yield from _people(run)


def cost_in_words(asked: Sequence[SourceUse]) -> str:
    """Return what all of *asked* cost, in a sentence."""
    costs = [each.cost for each in asked if each.cost is not None]
    if not costs:
        return "not recorded"
    calls = sum(each.calls or 0 for each in asked)
    return f"${sum(costs, Decimal(0)):f} for {calls} paid calls, as the log has it"


def _run(run: Run, *, reused: bool) -> Section:
    query, brand = run.query, run.brand
    facts: list[tuple[str, str | None]] = [
        ("Lookup", run.lookup),
        ("Asked for", " / ".join(filter(None, (query.brand, query.domain)))),
        ("Began", f"{instant(run.started_at)}, position {run.position}"),
        ("Begun by", cause_in_words(run.caused_by)),
        ("Deadline", f"after {_between(run.started_at, run.deadline_at)}"),
        ("Brand", run.status),
        ("Brand chosen by", run.resolved_by or NOT_RECORDED),
        ("Ranked by", run.ranked_by or NOT_RECORDED),
    ]
    if brand is not None:
        facts.append(("Mail domains", ", ".join(brand.mail_domains) or None))
        for field, source in brand.found_by.items():
            facts.append((f"Source of {field.replace('_', ' ')}", source))
    if run.finished_at is not None and run.outcome is not None:
        facts += [
            ("Ended", instant(run.finished_at)),
            ("Ended by", cause_in_words(run.finish_caused_by)),
            ("Took", _between(run.started_at, run.finished_at)),
            ("Outcome", _outcome(run.outcome)),
            ("Reused later", text(run.reusable)),
            ("Cut off by its deadline", text(run.cut_off)),
        ]
    about = "The search was answered from this earlier run." if reused else ""
    return Section(heading="The run", about=about, facts=facts)


def _stages(run: Run) -> Section:
    return table(
        "Stages and attempts",
        (
            {
                "Stage": f"{each.stage} {each.item}".strip(),
                "Attempt": each.attempt,
                "Began": f"+{_between(run.started_at, each.issued_at)}",
                "Took": each.ended_at and _between(each.issued_at, each.ended_at),
                "How it ended": _end(each),
                "Begun by": cause_in_words(each.caused_by),
                "Ended by": each.ended_at and cause_in_words(each.end_caused_by),
            }
            for each in run.attempts
        ),
        about="cs events why shows the whole chain of causes of any position.",
    )


def _end(attempt: RunAttempt) -> str:
    said = (
        attempt.end,
        attempt.why,
        "after silence" if attempt.after_silence else "",
        "after a restart" if attempt.after_restart else "",
    )
    return ", ".join(filter(None, said))


def _people(run: Run) -> Iterator[Section]:
    """Yield the people who are not erased: first those shown, in their order."""
    order = {each.person: n for n, each in enumerate(run.contacts) if each.full_name}
    last = len(run.people)
    people = sorted(
        (each for each in run.people if not each.is_erased),
        key=lambda each: (order.get(each.person, last), each.place or last),
    )
    erased = len(run.people) - len(people)
    besides = f"Considered and erased since: {erased}." if erased else ""
    yield table(
        "People considered",
        (
            {
                "Person": each.found.full_name,
                "Role": each.ranked and each.ranked.family,
                "Level": each.ranked and each.ranked.level,
                "Place": each.place,
                "Answer": "shown" if each.person in order else "not shown",
                "Why": each.why,
                "Found by": ", ".join(each.found.sources),
            }
            for each in people
        ),
        about=besides or ("" if people else "None."),
        facts=_meanings((each.why for each in people), KEPT),
    )
    yield from (each for each in (*_details(people), _addresses(people)) if each.rows)


def _details(people: Sequence[RunPerson]) -> Iterator[Section]:
    found = (
        {
            "Person": each.found.full_name,
            "Headline": each.found.headline,
            "Company": each.found.company,
            "Location": each.found.location,
            "Profile": each.found.linkedin_url,
            "Named": ", ".join(each.found.addresses),
            "Pseudonym": each.who,
        }
        for each in people
    )
    yield table(
        "Details of people",
        (row for row in found if any([*row.values()][1:-1])),
        about="Named: addresses that a source named; they prove nothing.",
    )
    yield table(
        "Second opinions on headlines",
        (
            {
                "Person": each.found.full_name,
                "Rules unsure": ", ".join(said.doubts),
                "Role": said.family,
                "Level": said.level,
                "Title": said.title,
                "Company": said.company,
                "By": f"{said.model}, {said.prompt}",
            }
            for each in people
            if (said := each.opinion) is not None
        ),
    )
    yield table(
        "Bounces",
        (
            {
                "Person": each.found.full_name,
                "At": bounce.bounced_at,
                "Code": bounce.status or "no code",
                "Why": bounce.why,
                "Said": bounce.diagnostic,
                "Verified by": bounce.verifier,
                "Rule": bounce.reason,
            }
            for each in people
            if (bounce := each.bounced) is not None
        ),
    )


def _addresses(people: Sequence[RunPerson]) -> Section:
    tried = [
        (person, check, evidence)
        for person in people
        for check in person.checks
        for evidence in check.checked.evidence
    ]
    return table(
        "Addresses and their verdicts",
        (
            {
                "Person": f"{person.found.full_name} {found.address}".removesuffix(
                    f" {HIDDEN}"
                ),
                "Mail domain": check.checked.mail_domain,
                "Verdict": "verified"
                if check.verified and found.verdict.value == "deliverable"
                else found.verdict.value,
                "Reply": reply_to(found),
                "Rule": found.reason,
                "Rules": found.rules or NOT_RECORDED,
            }
            for person, check, found in tried
        ),
        facts=_meanings((evidence.reason for *_, evidence in tried), REASONS),
        folded=[
            (f"{person.found.full_name}: {evidence.address}", conversation(check, evidence))
            for person, check, evidence in tried
        ],
    )


def conversation(check: MailboxCheck, evidence: Evidence) -> str:
    """Return what was said about the address of *evidence*, a line each."""
    lines = evidence.conversation
    took = f", took {in_words((lines[-1].at_ms - lines[0].at_ms) / 1000)}" if lines else ""
    again = evidence.retry_in_s
    return "\n".join(
        [
            f"{evidence.verifier} at {instant(evidence.at)}{took}",
            f"mail server {evidence.mx or '–'}",
            f"chosen by {check.checked.rules or NOT_RECORDED}, position {check.position}",
            *([] if again is None else [f"ask again after {in_words(again)}"]),
            *(f"{line.at_ms:>7} ms  {line.who}  {line.text}" for line in lines),
        ]
    )


def _meanings(
    said: Iterable[str], words: Mapping[str, str]
) -> Sequence[tuple[str, str | None]]:
    """Return each of *said* once, with what it means, if *words* have that."""
    return [(each, words[each]) for each in dict.fromkeys(said) if each in words]


def _between(since: datetime, until: datetime) -> str:
    return in_words((until - since).total_seconds())


def _outcome(said: str) -> str:
    return f"{said}: {OUTCOMES[said]}" if said in OUTCOMES else said


def _head(field: str) -> str:
    words = field.replace("email", "e-mail").replace("_url", "").replace("_", " ")
    return words[:1].upper() + words[1:]
