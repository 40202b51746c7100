"""A search with its evidence as sections, for a page or a terminal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import asdict

from cs.domain.mail.mailbox import Evidence
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.loading import Search
from cs.history.pages import Bar, Facts, Look, Page, Section, facts, table
from cs.history.redacting import HIDDEN, reply_to
from cs.history.runs import MailboxCheck, Run, RunAttempt, RunPerson
from cs.history.searches import SearchAt
from cs.history.words import ENDED, KEPT, OUTCOMES, REASONS, cause_in_words, why_ended
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
#: Fields of the record that are not facts of the answer; a full name has its parts.
_NOT_FACTS = ("contacts", "usage")
_CONTACT = (
    "person full_name title family level headline company location email email_status "
    "email_source linkedin_url"
)
_RUN = (
    "lookup number position started_at deadline_at finished_at finish_position reusable "
    "cut_off status resolved_by ranked_by"
)


def search_page(search: SearchAt) -> Page:
    """Return *search* as a page; redact it first unless people may be seen."""
    record = msgspec.json.decode(search.record)
    sections = [_answer(record), _search(search.search)]
    if search.run is not None:
        about = "The search was answered from this earlier run." if search.search.cached else ""
        sections += [
            Section(heading="The run", about=about, facts=_run_facts(search.run)),
            _stages(search.run),
            table(
                "Sources and verifiers asked",
                [
                    {**use, "ended": ENDED.get(use["ended"], use["ended"])}
                    for use in search.asked
                ],
                "stage item name ended questions calls used cost expected why",
                about=f"Cost in money: {cost_in_words(search.asked)}.",
            ),
            *_people(search.run),
        ]
    return Page(
        title=str(record["brand"]),
        lead=f"{_in_short(search)} Search {search.search.search}, as of position "
        f"{search.position}.",
        notes=[_HIDDEN_NOTE if search.is_redacted else _OPEN_NOTE, *_erased(search)],
        sections=sections,
        foot=f"Made of the event log up to position {search.position}, by cs searches show.",
    )


def _in_short(search: SearchAt) -> str:
    """Return in a sentence how *search* ended and why; nothing in it names a person."""
    outcome = search.search.outcome
    if outcome is None:
        return "It runs."
    said = OUTCOMES.get(outcome, outcome)
    why = "" if search.run is None else why_ended(search.run)
    return f"{said[:1].upper()}{said[1:]}{': ' if why else ''}{why}."


def _erased(search: SearchAt) -> Iterator[str]:
    for each in search.erased_since:
        why = "no search had returned them for long" if each.aged_out else "on request"
        yield (
            f"People of this run who were erased since, on {instant(each.at)} (position "
            f"{each.position}, {why}): {each.people}. Nothing of them is left."
        )


def _answer(record: Mapping[str, Any]) -> Section:
    values = {name: value for name, value in record.items() if name not in _NOT_FACTS}
    if "reason" in record:
        values["reason"] = _outcome(record["reason"])
    values["usage of the key"] = (
        "{used} of {quota}, {remaining} left".format(**record["usage"])
        if "usage" in record
        else "not counted here: its key has many searches"
    )
    shown = [name for each in record.get("contacts", ())[:1] for name in each]
    fields = " ".join(name for name in _CONTACT.split() if name in shown)
    as_json = msgspec.json.format(msgspec.json.encode(record)).decode()
    return table(
        "The answer",
        record.get("contacts", ()),
        fields,
        facts=facts(values),
        folded=[("The record as JSON", as_json)],
    )


def _search(search: Search) -> Section:
    values = {
        "key": search.key,
        "request": search.request,
        "asked at": search.asked_at,
        "asked by": cause_in_words(search.caused_by),
        "repeated while it ran": search.repeats,
    }
    if search.settled_at is not None:
        values |= {
            "settled at": search.settled_at,
            "settled by": cause_in_words(search.settled_caused_by),
            "settled after": _between(search.asked_at, search.settled_at),
        }
    return Section(heading="The search", facts=facts(values))


def cost_in_words(asked: Sequence[Mapping[str, Any]]) -> str:
    """Return what all of *asked* cost, in a sentence."""
    costs = [each["cost"] for each in asked if each["cost"] is not None]
    if not costs:
        return "not recorded"
    calls = sum(each["calls"] or 0 for each in asked)
    return f"${sum(costs, Decimal(0)):f} for {calls} paid calls, as the log has it"


def _run_facts(run: Run) -> Facts:
    values = {name: getattr(run, name) for name in _RUN.split()}
    values |= {
        "asked for": " / ".join(filter(None, (run.query.brand, run.query.domain))),
        "begun by": cause_in_words(run.caused_by),
    }
    if run.brand is not None:
        sources = (f"{field} by {source}" for field, source in run.brand.found_by.items())
        values |= {"mail domains": run.brand.mail_domains, "facts found": ", ".join(sources)}
    if run.finished_at is not None and run.outcome is not None:
        values |= {
            "ended by": cause_in_words(run.finish_caused_by),
            "took": _between(run.started_at, run.finished_at),
            "outcome": _outcome(run.outcome),
        }
    return facts(values)


def _stages(run: Run) -> Section:
    """Return the attempts at each stage, drawn on the time of the run and as a table."""
    ends = [each.ended_at or each.issued_at for each in run.attempts]
    length = max([run.finished_at or run.started_at, *ends]) - run.started_at
    # In per cent of the run, which is at least a millisecond long.
    per_s = 100 / max(length.total_seconds(), 0.001)

    def place(at: datetime | None) -> float:
        return 100 if at is None else max((at - run.started_at).total_seconds() * per_s, 0)

    deadline = place(run.deadline_at)
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
        bars=[
            Bar(f"{each.stage} {each.item} {each.attempt}", [*_spans(each, place)], _end(each))
            for each in run.attempts
        ],
        mark=(deadline, "The dashed line is the deadline.") if deadline <= 100 else None,
    )


def _spans(
    attempt: RunAttempt, place: Callable[[datetime | None], float]
) -> Iterator[tuple[float, float, Look]]:
    """Yield the time of *attempt*, and the wait for the next one after a failure."""
    end = place(attempt.ended_at)
    yield place(attempt.issued_at), end, attempt.end
    if attempt.end == "failed" and attempt.retry_at is not None:
        yield end, max(end, min(place(attempt.retry_at), 100)), "waiting"


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
    def about(each: RunPerson, value: Any) -> Mapping[str, Any]:
        return {**asdict(value), "person": each.found.full_name}

    details = ("headline", "company", "location", "linkedin_url", "addresses")
    yield table(
        "Details of people",
        [
            about(each, each.found)
            for each in people
            if any(getattr(each.found, name) for name in details)
        ],
        " ".join(("person", *details)),
        about="Addresses are those that a source named; they prove nothing.",
    )
    yield table(
        "Second opinions on headlines",
        [about(each, each.opinion) for each in people if each.opinion],
        "person doubts family level title company model prompt",
    )
    yield table(
        "Bounces",
        [about(each, each.bounced) for each in people if each.bounced],
        "person bounced_at status why diagnostic verifier reason",
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
