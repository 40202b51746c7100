"""A search with its evidence as people read it on a terminal."""

from collections.abc import Iterator

import msgspec

from cs.cli.output import all_harmless, console, print_table, styled
from cs.domain.rule_sets import NOT_RECORDED
from cs.history.page.drawing import seconds
from cs.history.shown.people import ShownCheck, ShownPerson
from cs.history.shown.phrases import cause_words, people_were
from cs.history.shown.search import ShownRun, ShownSearch
from cs.history.shown.stages import ShownAttempt, ShownStage
from cs.history.words import ENDS, OUTCOMES, REASONS
from cs.projections.searches import instant


def print_search(shown: ShownSearch) -> None:
    """Print the answer, then the run behind it, then everybody considered."""
    record = all_harmless(shown.record)
    when = f"as of position {shown.position}" + (", now" if shown.now else "")
    console.print(styled("[bold]{}[/]  {}  [dim]{}[/]", record["brand"], shown.search, when))
    console.print(msgspec.json.format(msgspec.json.encode(record), indent=2).decode())
    for erased in shown.erased_since:
        who = people_were(erased.people)
        console.print(styled("[yellow]{} erased since, on {}[/]", who, instant(erased.at)))
    waited = "" if shown.waited_s is None else f", settled after {seconds(shown.waited_s)}"
    console.print(f"asked for with {shown.key} at {instant(shown.admitted_at)}{waited}")
    settled = (
        ""
        if shown.settled_at is None
        else f"; settled by: {cause_words(shown.settled_caused_by)}"
    )
    console.print(
        styled("[dim]taken by: {}{}[/]", cause_words(shown.admitted_caused_by), settled)
    )
    if shown.run is not None:
        _print_run(shown.run, reused=shown.reused)


def _print_run(run: ShownRun, *, reused: bool) -> None:
    took = "goes on" if run.took_s is None else f"took {seconds(run.took_s)}"
    ended = "" if run.outcome is None else f": {run.outcome}, {OUTCOMES.get(run.outcome, '')}"
    of_before = " (a run of before)" if reused else ""
    console.print(styled("\n[bold]Run[/] {}{} {}{}", run.lookup, of_before, took, ended))
    finished = (
        "" if run.finished_at is None else f"; ended by: {cause_words(run.finish_caused_by)}"
    )
    console.print(styled("[dim]begun by: {}{}[/]", cause_words(run.caused_by), finished))
    _print_stages(run)
    if run.people:
        console.print(styled("\n[bold]Everybody considered[/]"))
        people = [_person(each) for each in run.people]
        print_table(("Person", "Role", "Level", "Place", "Why"), people, folds=["Why"])
    if run.erased:
        console.print(f"besides, {people_were(run.erased)} considered and erased since")
    opinions = [row for person in run.people for row in _opinion(person)]
    if opinions:
        console.print(styled("\n[bold]Second opinions on headlines[/]"))
        said = ("Person", "Rules unsure", "Role", "Level", "Title", "Company", "By")
        print_table(said, opinions, folds=["Rules unsure", "Title", "Company", "By"])
    tried = [
        row for person in run.people for check in person.checks for row in _tried(person, check)
    ]
    came_back = [_bounce(person) for person in run.people if person.bounced is not None]
    if came_back:
        console.print(styled("\n[bold]Mail that came back[/]"))
        print_table(
            ("Person", "At", "Code", "Why", "Vouched for by", "Rule"), came_back, folds=["Rule"]
        )
    if tried:
        console.print(styled("\n[bold]Addresses, and what was read of them[/]"))
        columns = ("Person", "Mail domain", "Verdict", "Reply", "Rule", "Rules")
        print_table(columns, tried, folds=["Rule", "Reply"])


def _print_stages(run: ShownRun) -> None:
    attempts = [
        (
            _stage_name(stage),
            str(attempt.attempt),
            f"+{seconds((attempt.issued_at - run.started_at).total_seconds())}",
            "" if attempt.took_s is None else seconds(attempt.took_s),
            _attempt(attempt),
        )
        for stage in run.stages
        for attempt in stage.attempts
    ]
    columns = ("Stage", "Attempt", "Began", "Took", "How it ended")
    print_table(columns, attempts, folds=["Stage", "How it ended"])
    causes = [
        (
            _stage_name(stage),
            str(attempt.attempt),
            cause_words(attempt.caused_by),
            "" if attempt.ended_at is None else cause_words(attempt.end_caused_by),
        )
        for stage in run.stages
        for attempt in stage.attempts
    ]
    led_by = ("Stage", "Attempt", "Begun by", "Ended by")
    print_table(led_by, causes, folds=["Stage", "Begun by", "Ended by"])
    asked = [
        (
            _stage_name(stage),
            each.name,
            each.ended or "",
            "" if each.questions is None else str(each.questions),
            "" if each.calls is None else str(each.calls),
            "" if each.cost is None else f"{each.cost:f}",
            "" if each.expected is None else f"{each.expected:f}",
            each.why or "",
        )
        for stage in run.stages
        for each in stage.asked
    ]
    console.print(f"cost in money: {run.cost_said}")
    if asked:
        who = (
            *("Stage", "Asked", "Ended", "Questions", "Paid calls", "Money"),
            *("Expected per e-mail", "Why not"),
        )
        print_table(who, asked, folds=["Stage", "Expected per e-mail", "Why not"])


def _stage_name(stage: ShownStage) -> str:
    return f"{stage.stage} {stage.item}".strip()


def _attempt(attempt: ShownAttempt) -> str:
    after = [
        "after silence" if attempt.after_silence else "",
        "after a restart" if attempt.after_restart else "",
    ]
    return ", ".join(filter(None, (ENDS[attempt.end], attempt.why, *after)))


def _person(person: ShownPerson) -> tuple[str, ...]:
    return (
        _who(person),
        person.family or "",
        person.level or "",
        str(person.place or ""),
        person.why,
    )


def _opinion(person: ShownPerson) -> Iterator[tuple[str, ...]]:
    said = person.opinion
    if said is not None:
        yield (
            _who(person),
            ", ".join(said.doubts),
            said.family,
            said.level,
            said.title or "",
            said.company or "",
            f"{said.model}, {said.prompt}",
        )


def _tried(person: ShownPerson, check: ShownCheck) -> Iterator[tuple[str, ...]]:
    for tried in check.tried:
        reply = tried.reply
        said = "" if reply is None else f"{reply.code} {reply.enhanced or ''} {reply.kind}"
        yield (
            tried.address or _who(person),
            check.mail_domain,
            "verified" if check.verified and tried.verdict == "deliverable" else tried.verdict,
            " ".join(said.split()),
            f"{tried.reason}: {REASONS[tried.reason]}"
            if tried.reason in REASONS
            else tried.reason,
            tried.rules or NOT_RECORDED,
        )


def _bounce(person: ShownPerson) -> tuple[str, ...]:
    bounce = person.bounced
    assert bounce is not None, "mail to them came back"
    at, status, reason = instant(bounce.bounced_at), bounce.status or "", bounce.reason or ""
    return (_who(person), at, status, bounce.why, bounce.verifier, reason)


def _who(person: ShownPerson) -> str:
    return person.in_clear.full_name if person.in_clear else person.pseudonym
