"""The run behind a search as parts of a page: its stages to scale, and who was asked."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from cs.history.page.blocks import facts, mono, table
from cs.history.page.drawing import Lane, Look, ValueRange, lanes, legend, seconds
from cs.history.page.markup import Html
from cs.history.shown.phrases import cause_words, outcome, yes
from cs.history.shown.search import ShownRun
from cs.history.shown.stages import ShownAttempt, ShownStage, SourceUse
from cs.history.words import ENDS
from cs.projections.searches import instant

_LOOKS: dict[str, Look] = {
    "open": "open",
    "answered": "good",
    "failed": "bad",
    "replaced": "plain",
    "cut-off": "warn",
}
_LEGEND: Sequence[tuple[Look, str]] = (
    *((look, ENDS[end]) for end, look in _LOOKS.items()),
    ("wait", "waits for its next attempt"),
)


def run_facts(run: ShownRun) -> Html:
    brand = run.brand
    asked = " / ".join(filter(None, (run.query.brand, run.query.domain)))
    return facts(
        [
            ("Lookup", mono(run.lookup)),
            ("Asked for", asked),
            ("Began", [instant(run.started_at), f", position {run.position}"]),
            ("Begun by", cause_words(run.caused_by)),
            ("Ended", None if run.finished_at is None else instant(run.finished_at)),
            ("Ended by", cause_words(run.finish_caused_by) if run.finished_at else None),
            ("Took", None if run.took_s is None else seconds(run.took_s)),
            (
                "Deadline",
                f"after {seconds((run.deadline_at - run.started_at).total_seconds())}",
            ),
            ("Outcome", None if run.outcome is None else outcome(run.outcome)),
            ("Reused later", None if run.outcome is None else yes(run.reusable)),
            ("Cut off by its deadline", yes(run.cut_off)),
            ("Brand", run.status),
            ("Mail domains", ", ".join(brand.mail_domains) or None if brand else None),
            *(
                (f"Source of {field.replace('_', ' ')}", source)
                for field, source in (brand.found_by.items() if brand else ())
            ),
        ]
    )


def waterfall(run: ShownRun) -> Iterator[Html]:
    ends = [_after(run, at) for at in _times(run)]
    until = max(max(ends, default=0.0), 0.001)
    deadline = _after(run, run.deadline_at)
    marks = [deadline] if deadline <= until else []
    lines = [
        Lane(
            [
                _stage_name(stage),
                f", attempt {attempt.attempt}" if attempt.attempt > 1 else None,
            ],
            _spans(run, stage, n, until),
            _attempt_words(attempt),
            marks,
        )
        for stage in run.stages
        for n, attempt in enumerate(stage.attempts)
    ]
    yield lanes(lines, until=until)
    yield legend(_LEGEND)


def causes_table(run: ShownRun) -> Html:
    rows = [
        (
            _stage_name(stage),
            attempt.attempt,
            cause_words(attempt.caused_by),
            ENDS[attempt.end],
            "–" if attempt.ended_at is None else cause_words(attempt.end_caused_by),
        )
        for stage in run.stages
        for attempt in stage.attempts
    ]
    columns = ("Stage", "Attempt", "Begun by", "How it ended", "Ended by")
    return table("What caused each attempt and its end", columns, rows)


def _spans(run: ShownRun, stage: ShownStage, n: int, until: float) -> list[ValueRange]:
    attempt = stage.attempts[n]
    start = _after(run, attempt.issued_at)
    end = until if attempt.ended_at is None else _after(run, attempt.ended_at)
    spans = [ValueRange(start, end, _LOOKS[attempt.end], _attempt_words(attempt))]
    if attempt.end == "failed" and attempt.retry_at is not None:
        later = stage.attempts[n + 1 : n + 2]
        again = _after(run, later[0].issued_at) if later else until
        spans.append(
            ValueRange(end, max(end, min(again, until)), "wait", "waits for its next attempt")
        )
    return spans


def _attempt_words(attempt: ShownAttempt) -> str:
    said = [] if attempt.took_s is None else [seconds(attempt.took_s)]
    said.append(ENDS[attempt.end])
    if attempt.why:
        said.append(attempt.why)
    if attempt.after_silence:
        said.append("made after silence")
    if attempt.after_restart:
        said.append("made after a restart")
    return ", ".join(said)


def asked_table(run: ShownRun) -> Html:
    rows = [
        (
            _stage_name(stage),
            asked.name,
            asked.ended or "–",
            "–" if asked.questions is None else asked.questions,
            _money(asked),
            asked.why or "–",
        )
        for stage in run.stages
        for asked in stage.asked
    ]
    columns = ("Stage", "Source or verifier", "Ended", "Questions", "Money", "Why not")
    return table("Sources and verifiers that were asked", columns, rows)


def _money(asked: SourceUse) -> str:
    if asked.cost is None:
        return "not recorded"
    calls = f", {asked.calls} paid calls" if asked.calls else ""
    expected = "" if asked.expected is None else f"; an e-mail expected at {asked.expected:f}"
    return f"{asked.cost:f}{calls}{expected}"


def _stage_name(stage: ShownStage) -> str:
    name = stage.stage.replace("-", " ")
    return f"{name} at {stage.item}" if stage.item else name


def _times(run: ShownRun) -> Iterator[datetime]:
    for stage in run.stages:
        for attempt in stage.attempts:
            yield attempt.ended_at or attempt.issued_at
    if run.finished_at is not None:
        yield run.finished_at


def _after(run: ShownRun, at: datetime) -> float:
    return max((at - run.started_at).total_seconds(), 0.0)
