"""One recorded run under other rules: how its answers and its charges would differ.  Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from cs.domain.contact import BrandFacts, CheckedPerson, RankedPerson
from cs.domain.mail.conclusion import Conclusion
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.rule_sets import NOT_RECORDED
from cs.domain.stages.fitting import fitted
from cs.history.replay.rules import BrokenRules, Rules
from cs.history.runs import MailboxCheck, Run, RunPerson
from cs.pipeline.brand_choice import BrandChoice
from cs.verifiers.smtp.verifier import NAME as SMTP

#: Which rules are applied.
Kind = Literal["ranking", "verdicts", "resolution"]
#: ``gained``: a person would be shown or verified who was not, a brand matched that was not.
Change = Literal["gained", "lost", "changed"]
#: ``open``: nobody knows without asking sources or mail servers.
ChargeChange = Literal["gained", "lost", "open"]

#: The facts of a brand that lead to other people or other mailboxes.
_LEADING = {"name", "domain", "linkedin_company_url", "parent_company", "mail_domains"}
#: What a difference may say only where people are revealed.
_PERSONAL = ("title", "address")


class Difference(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="difference"):
    """One answer of a run that would be another one.

    Attributes:
        brand, domain: As the brand was asked for.
        person: ``<lookup>#p1``; ``None``: it is about the brand.
        who: Their pseudonym over all lookups, if it was asked for.
        name: Who they are, if people are revealed.
        rules: That gave the recorded answer.
        was, would_be: Place and role, verdict and reasons, or status and the facts that differ.
    """

    replay: Kind
    change: Change
    brand: str | None
    domain: str | None
    lookup: str
    person: str | None
    who: str | None = None
    name: str | None = None
    rules: str
    was: Mapping[str, Any]
    would_be: Mapping[str, Any]


class Effect(msgspec.Struct, frozen=True):
    """What becomes of the searches that a run answered.

    Attributes:
        was_charged: Of those that were charged, or those that were not; ``None``: of all.
    """

    was_charged: bool | None
    change: ChargeChange


class Answer(msgspec.Struct, frozen=True):
    """One answer, recorded or of other rules.

    Attributes:
        holds: Whether the person is shown or verified, or the brand matched.
        said: What the answers are compared by.
        words: What is printed of it.
    """

    holds: bool
    said: Any
    words: Mapping[str, Any]


class Comparison:
    """How the answers of *run* would differ by rules of *kind*.

    Attributes:
        answers: How many were compared, by the rules that gave them.
        missed: What could not be compared, by why.
        effect: ``None``: every charge stays.
    """

    def __init__(self, run: Run, kind: Kind, *, reveals: bool) -> None:
        self.run = run
        self.answers = Counter[str]()
        self.missed = Counter[str]()
        self.differences: list[Difference] = []
        self.effect: Effect | None = None
        self._kind = kind
        self._reveals = reveals

    def add(
        self, rules: str | None, was: Answer, now: Answer, person: RunPerson | None = None
    ) -> Change | None:
        """Compare an answer about *person* or the brand, which *rules* gave."""
        run, name = self.run, rules or NOT_RECORDED
        self.answers[name] += 1
        if was.said == now.said:
            return None
        change: Change = "changed"
        if was.holds != now.holds:
            change = "lost" if was.holds else "gained"
        retitled = change == "changed" and was.words.get("title") != now.words.get("title")
        self.differences.append(
            Difference(
                replay=self._kind,
                change=change,
                brand=run.query.brand,
                domain=run.query.domain,
                lookup=run.lookup,
                person=None if person is None else f"{run.lookup}#{person.person}",
                name=person.found.full_name if person and self._reveals else None,
                rules=name,
                was=self._shown(was),
                would_be=self._shown(now) | ({"retitled": True} if retitled else {}),
            )
        )
        return change

    def _shown(self, answer: Answer) -> dict[str, Any]:
        hidden = () if self._reveals else _PERSONAL
        return {name: said for name, said in answer.words.items() if name not in hidden}

    def charge(self, *, was: bool, now: bool, is_open: bool) -> None:
        """Note the effect on charges.

        Args:
            was: Whether a shown person had a verified e-mail.
            now: Whether one would have, of those whose mailboxes were checked.
            is_open: Whether further mailboxes would be checked.
        """
        if now and not was:
            self.effect = Effect(was, "gained")
        elif not now and (was or is_open):
            self.effect = Effect(was, "open" if is_open else "lost")


def compare(run: Run, kind: Kind, rules: Rules, *, reveals: bool = False) -> Comparison:
    """Apply *rules* of *kind* to *run*.

    Erased people are in neither answer; their place and their verified mailbox still count.

    Raises:
        BrokenRules: The rules fail.
    """
    comparison = Comparison(run, kind, reveals=reveals)
    match kind:
        case "ranking":
            _rank(comparison, run, rules)
        case "verdicts":
            _judge(comparison, run, rules)
        case "resolution":
            _resolve(comparison, run, rules)
    return comparison


def _rank(comparison: Comparison, run: Run, rules: Rules) -> None:
    known = {each.person: each for each in run.people if each.found.full_name}
    if run.ranked_at is None or run.brand is None or not known:
        comparison.missed["nobody to rank"] += 1
        return
    places = sorted((each.place, each.person, each.ranked) for each in run.people if each.place)
    before = {person: ranked for _, person, ranked in places if ranked and person in known}
    shown, left_out = rules.rank(
        run.brand,
        [each.found for each in known.values()],
        max(run.shown_at_most - (len(places) - len(before)), 0),
        [each.opinion for each in known.values() if each.opinion is not None],
    )
    after = {each.person: each for each in shown}
    why = {each.person: each.why for each in left_out}
    if len(after) < len(shown) or not after.keys() | why.keys() <= known.keys():
        raise BrokenRules(f"{rules.name}: rank() names a person twice or one it was not given")
    for person, each in known.items():
        was = _place(person, before, after, each.left_out)
        comparison.add(run.ranked_by, was, _place(person, after, before, why.get(person)), each)
    verified = {each.person for each in run.people if any(c.verified for c in each.checks)}
    stays = bool(verified - known.keys())
    comparison.charge(
        was=stays or bool(verified & before.keys()),
        now=stays or bool(verified & after.keys()),
        is_open=bool(after.keys() - before.keys() - verified) and bool(run.brand.mail_domains),
    )


def _place(
    person: str,
    ranked: Mapping[str, RankedPerson],
    other: Mapping[str, RankedPerson],
    left_out: str | None,
) -> Answer:
    """Return where *person* stands; what counts is the place among those in *other*, too."""
    shown = ranked.get(person)
    if shown is None:
        return Answer(False, None, {"left_out": left_out or "not-ranked"})
    words = {
        "place": list(ranked).index(person) + 1,
        "family": shown.family,
        "level": shown.level,
        "score": shown.score,
        "title": shown.title,
    }
    place = (
        [each for each in ranked if each in other].index(person) if person in other else None
    )
    return Answer(True, (place, shown.family, shown.level, shown.title), words)


def _judge(comparison: Comparison, run: Run, rules: Rules) -> None:
    was_verified = is_verified = is_open = False
    for each, check in ((person, check) for person in run.people for check in person.checks):
        was_verified |= check.verified
        if not each.found.full_name:
            is_verified |= check.verified
            continue
        checked, evidence = check.checked, check.checked.evidence
        conclusion, readings = rules.judge(checked)
        pairs = list(zip(evidence, readings, strict=True))
        comparison.missed.update(_unread(found) for found, reading in pairs if not reading)
        was = _verdict(check, check.verified, checked, [found.reason for found in evidence])
        # Deliverable and not verified: no configured verifier vouched for it then.
        vouched = check.verified or checked.verdict is not Verdict.DELIVERABLE
        holds = vouched and conclusion.verdict is Verdict.DELIVERABLE
        reasons = [reading.reason if reading else found.reason for found, reading in pairs]
        now = _verdict(check, holds, conclusion, reasons)
        comparison.add(next((f.rules for f in evidence if f.rules), None), was, now, each)
        is_verified |= holds
        # Where every address that was tried is refused, others would be tried.
        is_open |= check.verified and conclusion.verdict is Verdict.UNDELIVERABLE
    if not comparison.answers:
        comparison.missed["no mailbox was checked"] += 1
    comparison.charge(was=was_verified, now=is_verified, is_open=is_open)


def _verdict(
    check: MailboxCheck,
    holds: bool,
    said: CheckedPerson | Conclusion,
    reasons: Sequence[str],
) -> Answer:
    words = {
        "mail_domain": check.checked.mail_domain,
        "verdict": said.verdict,
        "reasons": reasons,
        "address": said.address,
    }
    return Answer(holds, (said.verdict, said.address), words)


def _unread(found: Evidence) -> str:
    """Return why *found* could not be read again."""
    if found.verifier != SMTP:
        return "read by another verifier"
    if all(line.who != "S" for line in found.conversation):
        return "no mail server said anything"
    return "something is asked that was not asked or stored then"


def _resolve(comparison: Comparison, run: Run, rules: Rules) -> None:
    if run.resolution is None or run.status is None:
        comparison.missed["no source had answered in the end"] += 1
        return
    if run.matches is None:
        comparison.missed["the brands that sources named were not recorded"] += 1
        return
    chosen = rules.resolve(run.query, run.matches)
    status, facts = (chosen.status, chosen.facts) if isinstance(chosen, BrandChoice) else chosen
    if facts is not None:
        facts = fitted(facts)  # as what was recorded, which went through a message
    names = BrandFacts.__struct_fields__
    differ = [n for n in names if getattr(run.brand, n, None) != getattr(facts, n, None)]
    was = _resolution(run.status, run.brand, differ)
    match comparison.add(run.resolved_by, was, _resolution(status, facts, differ)):
        case "lost":
            comparison.effect = Effect(was_charged=True, change="lost")
        case "gained":  # nobody knows who works for another brand
            comparison.effect = Effect(was_charged=False, change="open")
        case "changed" if _LEADING & set(differ):
            comparison.effect = Effect(was_charged=None, change="open")
        case _:
            pass


def _resolution(status: str, facts: BrandFacts | None, names: Sequence[str]) -> Answer:
    known = {} if facts is None else {name: getattr(facts, name) for name in names}
    return Answer(status == "matched", (status, facts), {"status": status, **known})
