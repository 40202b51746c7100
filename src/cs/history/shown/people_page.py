"""Everybody whom a run considered as parts of a page, and what was tried to verify each."""

from collections.abc import Iterator

from cs.domain.rule_sets import NOT_RECORDED
from cs.history.page.blocks import Tone, badge, facts, fold, mono, note, table
from cs.history.page.drawing import seconds
from cs.history.page.markup import Html, Inside, el
from cs.history.shown.people import ShownBounce, ShownCheck, ShownPerson, TriedAddress
from cs.history.shown.phrases import good, people_were
from cs.history.shown.search import ShownRun
from cs.history.words import KEPT, REASONS, VERDICTS
from cs.projections.searches import instant


def people_table(run: ShownRun) -> Iterator[Html]:
    ranking = next((stage for stage in run.stages if stage.stage == "ranking"), None)
    rules = ranking.rules if ranking else None
    yield el("p", f"Ranked by: {rules or NOT_RECORDED}.", class_="about")
    rows = [
        (
            (_who(person), _read_of(person)),
            person.family or "–",
            (person.level or "–").replace("_", " "),
            person.place or "–",
            badge("shown" if person.is_shown else "not\u00a0shown", good(person.is_shown)),
            KEPT.get(person.why, person.why),
            ", ".join(person.sources) or "–",
        )
        for person in run.people
    ]
    columns = ("Person", "Role", "Level", "Place", "Answer", "Why", "Found by")
    if rows:
        yield table("Everybody considered", columns, rows, numbers=["Place"])
    else:
        yield el("p", "Nobody.")
    if run.erased:
        yield note(f"Besides, {people_were(run.erased)} considered and erased since.")


def evidence_of(person: ShownPerson) -> Html:
    return el(
        "article",
        el("h3", _who(person)),
        _in_clear(person),
        _opinion(person),
        (_check(check) for check in person.checks),
        _bounce(person.bounced) if person.bounced is not None else None,
    )


def _bounce(bounce: ShownBounce) -> Html:
    said = f": {bounce.diagnostic}" if bounce.diagnostic else ""
    rule = f" by {bounce.reason}" if bounce.reason else ""
    return el(
        "p",
        badge("came back", "bad"),
        f" {instant(bounce.bounced_at)}, {bounce.status or 'no code'}, {bounce.why}{said} "
        f"({bounce.verifier} had vouched for it{rule}; position {bounce.position})",
    )


def _in_clear(person: ShownPerson) -> Html | None:
    clear = person.in_clear
    if clear is None:
        return None
    return facts(
        [
            ("Headline", clear.headline),
            ("Company", clear.company),
            ("Location", clear.location),
            ("Profile", clear.linkedin_url),
            ("Addresses that a source named", ", ".join(clear.named_addresses) or None),
            ("Pseudonym", mono(person.pseudonym)),
        ]
    )


def _opinion(person: ShownPerson) -> Html | None:
    said = person.opinion
    if said is None:
        return None
    return facts(
        [
            ("Rules unsure of the headline", ", ".join(said.doubts)),
            ("Second opinion: role", said.family),
            ("Level", said.level.replace("_", " ")),
            ("Title", said.title),
            ("Company", said.company),
            ("By", f"{said.model}, asked {said.prompt}"),
        ]
    )


def _check(check: ShownCheck) -> Iterator[Html]:
    yield el(
        "p",
        mono(check.mail_domain),
        " ",
        _verdict(check.verdict, verified=check.verified),
        f" by {check.verifier}" if check.verifier else f" {VERDICTS.get(check.verdict, '')}",
        f" (chosen by {check.rules or NOT_RECORDED}; position {check.position})",
    )
    for n, tried in enumerate(check.tried, 1):
        yield _tried(n, tried, verified=check.verified)


def _tried(n: int, tried: TriedAddress, *, verified: bool) -> Html:
    summary = [
        mono(tried.address) if tried.address else f"Address {n}",
        " ",
        _verdict(tried.verdict, verified=verified and tried.verdict == "deliverable"),
        " ",
        REASONS.get(tried.reason, tried.reason),
    ]
    reply = tried.reply
    said = None
    if reply is not None:
        code = f"{reply.code} {reply.enhanced or ''}".strip()
        said = f"{code}: {reply.kind}"
    return fold(
        summary,
        facts(
            [
                ("Rule that read it", mono(tried.reason)),
                ("Set of rules", tried.rules or NOT_RECORDED),
                ("Last reply, read today", said),
                ("What it said", reply.text if reply and reply.text else None),
                ("Verifier", tried.verifier),
                ("Mail server", tried.mx),
                ("At", instant(tried.at)),
                ("Took", None if tried.took_ms is None else seconds(tried.took_ms / 1000)),
                (
                    "Ask again after",
                    None if tried.retry_in_s is None else seconds(tried.retry_in_s),
                ),
            ]
        ),
        _transcript(tried),
    )


def _transcript(tried: TriedAddress) -> Html | None:
    if not tried.conversation:
        return None
    lines = (f"{line.at_ms:>7} ms  {line.who}  {line.text}" for line in tried.conversation)
    return el("pre", "\n".join(lines))


def _verdict(verdict: str, *, verified: bool) -> Html:
    if verified:
        return badge("verified", "good")
    tone: Tone = "bad" if verdict == "undeliverable" else "warn"
    return badge(verdict.replace("_", " "), tone)


def _read_of(person: ShownPerson) -> Html | None:
    """Return what role and employer were read of, if it may be seen."""
    clear = person.in_clear
    said = " · ".join(filter(None, (clear.headline, clear.company))) if clear else ""
    return el("small", said) if said else None


def _who(person: ShownPerson) -> Inside:
    if person.in_clear is not None:
        return person.in_clear.full_name
    return mono(person.pseudonym)
