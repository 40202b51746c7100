"""A search with its evidence as sections, for a page or a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from cs.domain.mail.mailbox import Evidence
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.asked import SourceUse, cost_in_words
from cs.history.pages import Bar, Look, Page, Section
from cs.history.redacting import HIDDEN, reply_words
from cs.history.runs import MailboxCheck, Run, RunAttempt, RunPerson
from cs.history.searches import SearchAt
from cs.history.words import (
    ENDS,
    KEPT,
    OUTCOMES,
    REASONS,
    cause_in_words,
    people_were,
    seconds,
)
from cs.projections.searches import instant

_HIDDEN_NOTE = (
    "People are hidden: who they are, their addresses and what mail servers said of them are "
    "not in this page."
)
_OPEN_NOTE = (
    "This page shows people in clear. Keep it as long as it is needed, and where only those "
    "see it who may."
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
_LOOKS: Mapping[str, Look] = {
    "open": "open",
    "answered": "good",
    "failed": "bad",
    "replaced": "plain",
    "cut-off": "warn",
}


def search_page(search: SearchAt, prices: Mapping[str, Decimal]) -> Page:
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
            *(() if run is None else _run_sections(search, run, prices)),
        ],
        foot=f"Made of the event log up to position {search.position}, by cs searches show.",
    )


def _erased(search: SearchAt) -> Iterator[str]:
    for each in search.erased_since:
        why = "nobody had been returned them for long" if each.aged_out else "at their wish"
        yield (
            f"Of this run {people_were(each.people)} erased since, on {instant(each.at)} "
            f"(position {each.position}; {why}). Nothing of them is left."
        )


def _answer(record: Mapping[str, Any]) -> Section:
    usage = record["usage"]
    contacts: Sequence[Mapping[str, str | None]] = record.get("contacts", ())
    fields = [name for name in (contacts[0] if contacts else ()) if name not in _PARTS]
    facts = [(label, record[name]) for name, label in _ANSWER.items() if record.get(name)]
    if "reason" in record:
        facts.insert(1, ("Why", _outcome(record["reason"])))
    return Section(
        heading="The answer",
        facts=[
            *facts,
            ("Charged", _yes(record.get("charged"))),
            ("Reused from an earlier run", _yes(record.get("cached"))),
            (
                "Usage of the key",
                f"{usage['used']} of {usage['quota']}, {usage['remaining']} left",
            ),
        ],
        columns=[_head(name) for name in fields],
        rows=[[each[name] or "" for name in fields] for each in contacts],
        words=[_head(name) for name in fields],
        folded=[
            ("The record as JSON", msgspec.json.format(msgspec.json.encode(record)).decode())
        ],
    )


def _search(search: SearchAt) -> Section:
    admitted, settled = search.admitted, search.settled
    facts: list[tuple[str, str | None]] = [
        ("Key", search.key),
        ("Asked for", f"{instant(admitted.at)}, position {search.admitted_position}"),
        ("Request", admitted.request or NOT_RECORDED),
        ("Taken by", cause_in_words(search.admitted_caused_by)),
        ("Asked for again while it ran", f"{search.repeated} times"),
    ]
    if settled is not None:
        facts += [
            ("Settled", f"{instant(settled.at)}, position {search.settled_position}"),
            ("Settled by", cause_in_words(search.settled_caused_by)),
            ("Settled after", _between(admitted.at, settled.at)),
        ]
    return Section(heading="The search", facts=facts)


def _run_sections(
    search: SearchAt, run: Run, prices: Mapping[str, Decimal]
) -> Iterator[Section]:
    yield _run(run, reused=search.reused)
    yield _stages(run)
    yield Section(
        heading="What caused what",
        about="cs events why shows for any position the whole chain, from call to charge.",
        columns=("Stage", "Attempt", "Begun by", "Ended by"),
        rows=[
            (
                _stage(each),
                str(each.attempt),
                cause_in_words(each.caused_by),
                "" if each.ended_at is None else cause_in_words(each.end_caused_by),
            )
            for each in run.attempts
        ],
        words=("Stage", "Begun by", "Ended by"),
    )
    yield _asked(search.asked, prices)
    yield from _people(run)


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
            ("Reused later", _yes(run.reusable)),
            ("Cut off by its deadline", _yes(run.cut_off)),
        ]
    about = "The search was answered from this run of before." if reused else ""
    return Section(heading="The run", about=about, facts=facts)


def _stages(run: Run) -> Section:
    ends = [each.ended_at or each.issued_at for each in run.attempts]
    until = max([run.finished_at or run.started_at, *ends]) - run.started_at
    scale = max(until.total_seconds(), 0.001)
    deadline = (run.deadline_at - run.started_at).total_seconds()
    shown = f"The width is {seconds(scale)}; a dashed line is the deadline."
    return Section(
        heading="Stages and attempts",
        about=shown,
        bars=[
            Bar(f"{_stage(each)} {each.attempt}", [*_spans(run, each, scale)], _end(each))
            for each in run.attempts
        ],
        until=scale,
        mark=deadline if deadline <= scale else None,
        columns=("Stage", "Attempt", "Began", "Took", "How it ended"),
        rows=[
            (
                _stage(each),
                str(each.attempt),
                f"+{_between(run.started_at, each.issued_at)}",
                "" if each.ended_at is None else _between(each.issued_at, each.ended_at),
                _end(each),
            )
            for each in run.attempts
        ],
        words=("Stage", "How it ended"),
        numbers=("Attempt",),
    )


def _spans(run: Run, attempt: RunAttempt, until: float) -> Iterator[tuple[float, float, Look]]:
    """Yield the time that *attempt* took, and the time until it was made again."""

    def after(at: datetime | None) -> float:
        return until if at is None else max((at - run.started_at).total_seconds(), 0.0)

    end = after(attempt.ended_at)
    yield after(attempt.issued_at), end, _LOOKS[attempt.end]
    if attempt.end == "failed" and attempt.retry_at is not None:
        yield end, max(end, min(after(attempt.retry_at), until)), "wait"


def _end(attempt: RunAttempt) -> str:
    said = (
        ENDS[attempt.end],
        attempt.why,
        "after silence" if attempt.after_silence else "",
        "after a restart" if attempt.after_restart else "",
    )
    return ", ".join(filter(None, said))


def _asked(asked: Sequence[SourceUse], prices: Mapping[str, Decimal]) -> Section:
    return Section(
        heading="Who was asked",
        about=f"Cost in money: {cost_in_words(asked, prices)}.",
        columns=(
            *("Stage", "Asked", "Ended", "Questions", "Paid calls", "Money"),
            *("Expected per e-mail", "Why not"),
        ),
        rows=[
            (
                _stage(each),
                each.name,
                each.ended or "",
                "" if each.questions is None else str(each.questions),
                "" if each.calls is None else str(each.calls),
                "" if each.cost is None else f"{each.cost:f}",
                "" if each.expected is None else f"{each.expected:f}",
                each.why or "",
            )
            for each in asked
        ],
        words=("Stage", "Expected per e-mail", "Why not"),
        numbers=("Questions", "Paid calls", "Money", "Expected per e-mail"),
    )


def _people(run: Run) -> Iterator[Section]:
    """Yield everybody who is not erased: first who is shown, in their order."""
    order = {each.person: n for n, each in enumerate(run.contacts) if each.full_name}
    last = len(run.people)
    people = sorted(
        (each for each in run.people if not each.is_erased),
        key=lambda each: (order.get(each.person, last), each.place or last),
    )
    erased = len(run.people) - len(people)
    besides = f"Besides, {people_were(erased)} considered and erased since." if erased else ""
    yield Section(
        heading="Everybody considered",
        about=besides or ("" if people else "Nobody."),
        facts=_meanings((each.why for each in people), KEPT),
        columns=("Person", "Role", "Level", "Place", "Answer", "Why", "Found by"),
        rows=[
            (
                each.found.full_name,
                each.ranked.family if each.ranked else "",
                each.ranked.level if each.ranked else "",
                str(each.place or ""),
                "shown" if each.person in order else "not shown",
                each.why,
                ", ".join(each.found.sources),
            )
            for each in people
        ],
        words=("Person", "Why", "Found by"),
        numbers=("Place",),
    )
    for section in (_found(people), _opinions(people), _bounces(people), _addresses(people)):
        if section.rows:
            yield section


def _found(people: Sequence[RunPerson]) -> Section:
    columns = ("Person", "Headline", "Company", "Location", "Profile", "Named", "Pseudonym")
    rows = [
        (
            found.full_name,
            found.headline or "",
            found.company or "",
            found.location or "",
            found.linkedin_url or "",
            ", ".join(found.addresses),
            each.who or "",
        )
        for each in people
        for found in (each.found,)
    ]
    return Section(
        heading="What was found of them",
        about="Named are addresses that a source named, which proves nothing.",
        columns=columns,
        rows=[row for row in rows if any(row[1:-1])],
        words=columns,
    )


def _opinions(people: Sequence[RunPerson]) -> Section:
    columns = ("Person", "Rules unsure", "Role", "Level", "Title", "Company", "By")
    return Section(
        heading="Second opinions on headlines",
        columns=columns,
        rows=[
            (
                each.found.full_name,
                ", ".join(said.doubts),
                said.family,
                said.level,
                said.title or "",
                said.company or "",
                f"{said.model}, {said.prompt}",
            )
            for each in people
            if (said := each.opinion) is not None
        ],
        words=columns,
    )


def _bounces(people: Sequence[RunPerson]) -> Section:
    return Section(
        heading="Mail that came back",
        columns=("Person", "At", "Code", "Why", "Said", "Vouched for by", "Rule"),
        rows=[
            (
                each.found.full_name,
                instant(bounce.bounced_at),
                bounce.status or "no code",
                bounce.why,
                bounce.diagnostic,
                bounce.verifier,
                bounce.reason or "",
            )
            for each in people
            if (bounce := each.bounced) is not None
        ],
        words=("Person", "Said", "Rule"),
    )


def _addresses(people: Sequence[RunPerson]) -> Section:
    tried = [
        (person, check, evidence)
        for person in people
        for check in person.checks
        for evidence in check.checked.evidence
    ]
    return Section(
        heading="Addresses, and what was read of them",
        about="The last reply about an address is shown as today's rules read it.",
        facts=_meanings((evidence.reason for *_, evidence in tried), REASONS),
        columns=("Person", "Mail domain", "Verdict", "Reply", "Rule", "Rules"),
        rows=[_tried(*each) for each in tried],
        words=("Person", "Rule", "Reply"),
        folded=[
            (f"{person.found.full_name}: {evidence.address}", _conversation(check, evidence))
            for person, check, evidence in tried
        ],
    )


def _tried(person: RunPerson, check: MailboxCheck, evidence: Evidence) -> Sequence[str]:
    verdict = evidence.verdict.value
    return (
        f"{person.found.full_name} {evidence.address}".removesuffix(f" {HIDDEN}"),
        check.checked.mail_domain,
        "verified" if check.verified and verdict == "deliverable" else verdict,
        reply_words(evidence),
        evidence.reason,
        evidence.rules or NOT_RECORDED,
    )


def _conversation(check: MailboxCheck, evidence: Evidence) -> str:
    lines = evidence.conversation
    took = f", took {seconds((lines[-1].at_ms - lines[0].at_ms) / 1000)}" if lines else ""
    again = evidence.retry_in_s
    return "\n".join(
        [
            f"{evidence.verifier} at {instant(evidence.at)}{took}",
            f"mail server {evidence.mx or '–'}",
            f"chosen by {check.checked.rules or NOT_RECORDED}, position {check.position}",
            *([] if again is None else [f"ask again after {seconds(again)}"]),
            *(f"{line.at_ms:>7} ms  {line.who}  {line.text}" for line in lines),
        ]
    )


def _meanings(
    said: Iterable[str], words: Mapping[str, str]
) -> Sequence[tuple[str, str | None]]:
    """Return each of *said* once, with what it means, if *words* have that."""
    return [(each, words[each]) for each in dict.fromkeys(said) if each in words]


def _between(since: datetime, until: datetime) -> str:
    return seconds((until - since).total_seconds())


def _stage(work: RunAttempt | SourceUse) -> str:
    return f"{work.stage} {work.item}".strip()


def _outcome(said: str) -> str:
    return f"{said}: {OUTCOMES[said]}" if said in OUTCOMES else said


def _yes(said: bool | None) -> str | None:
    return None if said is None else "yes" if said else "no"


def _head(field: str) -> str:
    words = field.replace("email", "e-mail").replace("_url", "").replace("_", " ")
    return words[:1].upper() + words[1:]
