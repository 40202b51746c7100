"""A replay of the log: its runs under other rules, and the charges of their searches."""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, NamedTuple

import msgspec

from cs.domain.contact import RankedPerson
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.rule_sets import NOT_RECORDED
from cs.eventlog.port import DamagedEvent, EventLog, NewerEvent
from cs.history.history import Progress, unseen
from cs.history.loading import Search, load
from cs.history.replay.rules import BrokenRules, Rules
from cs.history.runs import Run, RunPerson
from cs.history.selection import Selection
from cs.keystore.port import KeyStore
from cs.verifiers.smtp.verifier import NAME as SMTP

#: Which rules are applied.
Kind = Literal["ranking", "verdicts"]
#: ``gained``: a person would be shown or verified who was not.
Change = Literal["gained", "lost", "changed"]
#: ``open``: not known without asking sources or mail servers.
ChargeChange = Literal["gained", "lost", "open"]

#: Fields of a difference that are shown only if people are revealed.
_PERSONAL = ("title", "address")


class Difference(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="difference"):
    """One answer of a run that would differ.

    Attributes:
        brand, domain: As the brand was asked for.
        person: ``<lookup>#p1``.
        name: Their name, if people are revealed.
        rules: The rules that gave the recorded answer.
        was, would_be: Place and role, or verdict and reasons, as recorded and by the rules.
    """

    replay: Kind
    change: Change
    brand: str | None
    domain: str | None
    lookup: str
    person: str
    name: str | None = None
    rules: str
    was: Mapping[str, Any]
    would_be: Mapping[str, Any]


class ChargeDifference(msgspec.Struct, frozen=True, tag_field="kind", tag="charge"):
    """A settled search that would, or may, be charged differently."""

    change: ChargeChange
    search: Search


class Answer(NamedTuple):
    """One answer, recorded or of other rules.

    Attributes:
        holds: Whether the person is shown or verified.
        said: The value that answers are compared by.
        words: The fields that are printed.
    """

    holds: bool
    said: Any
    words: Mapping[str, Any]


#: How the charges of a run's searches change, by whether they were charged.
_Charges = Mapping[bool, ChargeChange]


@dataclass
class Replay:
    """Applies rules to the runs of a log; use it once.

    Erased people are in neither answer; their place and their verified mailbox still count.

    Attributes:
        kind: Which rules are applied.
        rules: Those that are.
        brands: Only the runs of these streams; empty: all runs.
        upto: The last position that is read; ``None``: the log's last.
        reveals: Whether differences have personal fields.
        lookups: Runs that were read.
        replayed: Runs among them that have answers to compare.
        answers: Answers that were compared, by the rules that gave them.
        missed: Runs and answers that were not compared, by reason.
        damaged: Events that cannot be read, by position.
    """

    log: EventLog
    keys: KeyStore
    kind: Kind
    rules: Rules
    _: KW_ONLY
    brands: Sequence[str] = ()
    upto: int | None = None
    reveals: bool = False
    lookups: int = 0
    replayed: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    damaged: dict[int, DamagedEvent | NewerEvent] = field(default_factory=dict)
    _charges: dict[str, _Charges] = field(default_factory=dict)  # by lookup
    _found: list[Difference] = field(default_factory=list)

    async def differences(
        self, progress: Progress = unseen
    ) -> AsyncIterator[Sequence[Difference | ChargeDifference]]:
        """Yield what would differ, in the order of the log, some thousand positions at a time.

        Raises:
            LogUnavailable: The log or the key store cannot be read now.
            BrokenRules: The rules fail.
        """
        async for part in load(
            self.log,
            self.keys,
            Selection(brands=tuple(self.brands), upto=self.upto),
            unreadable=lambda error: self.damaged.update({error.position: error}),
            progress=progress,
        ):
            for run in part.runs:
                self._apply(run)
            found, self._found = self._found, []
            # A search is settled after the run that answers it has ended.
            yield [*found, *(each for search in part.searches for each in self._charge(search))]

    def _apply(self, run: Run) -> None:
        self.lookups += 1
        if self._is_damaged(run):
            self.missed["one of its events cannot be read"] += 1
            return
        before = self.answers.total()
        compare = self._rank if self.kind == "ranking" else self._judge
        self._charges[run.lookup] = compare(run)
        self.replayed += self.answers.total() > before

    def _is_damaged(self, run: Run) -> bool:
        """Return whether an event between the first and the last of *run* cannot be read."""
        last = run.finish_position or sys.maxsize
        return any(
            error.stream == run.stream and run.position < position <= last
            for position, error in self.damaged.items()
        )

    def _charge(self, search: Search) -> Iterator[ChargeDifference]:
        change = self._charges.get(search.lookup, {}).get(bool(search.charged))
        if change is not None and search.settled_position is not None:
            yield ChargeDifference(change, search)

    def _compare(
        self,
        run: Run,
        rules: str | None,
        was: Answer,
        now: Answer,
        person: RunPerson,
    ) -> None:
        """Compare an answer of *run* about *person*, which *rules* gave."""
        self.answers[rules or NOT_RECORDED] += 1
        if was.said == now.said:
            return
        change: Change = "changed"
        if was.holds != now.holds:
            change = "lost" if was.holds else "gained"
        hidden = () if self.reveals else _PERSONAL
        old, new = (
            {name: said for name, said in answer.words.items() if name not in hidden}
            for answer in (was, now)
        )
        if change == "changed" and was.words.get("title") != now.words.get("title"):
            new["retitled"] = True
        self._found.append(
            Difference(
                replay=self.kind,
                change=change,
                brand=run.query.brand,
                domain=run.query.domain,
                lookup=run.lookup,
                person=f"{run.lookup}#{person.person}",
                name=person.found.full_name if self.reveals else None,
                rules=rules or NOT_RECORDED,
                was=old,
                would_be=new,
            )
        )

    def _rank(self, run: Run) -> _Charges:
        known = {each.person: each for each in run.people if each.found.full_name}
        if run.ranked_at is None or run.brand is None or not known:
            self.missed["no person to rank"] += 1
            return {}
        places = sorted((p.place, p.person, p.ranked) for p in run.people if p.place)
        before = {person: ranked for _, person, ranked in places if ranked and person in known}
        shown, left_out = self.rules.rank(
            run.brand,
            [each.found for each in known.values()],
            max(run.shown_at_most - (len(places) - len(before)), 0),
            [each.opinion for each in known.values() if each.opinion is not None],
        )
        after = {each.person: each for each in shown}
        why = {each.person: each.why for each in left_out}
        if len(after) < len(shown) or not after.keys() | why.keys() <= known.keys():
            name = self.rules.name
            raise BrokenRules(f"{name}: rank() names a person twice or one it was not given")
        for person, each in known.items():
            was = _place(person, before, after, each.left_out)
            now = _place(person, after, before, why.get(person))
            self._compare(run, run.ranked_by, was, now, each)
        verified = {each.person for each in run.people if any(c.verified for c in each.checks)}
        stays = bool(verified - known.keys())
        unasked = after.keys() - before.keys() - verified
        return _charges(
            was=stays or bool(verified & before.keys()),
            now=stays or bool(verified & after.keys()),
            is_open=bool(unasked) and bool(run.brand.mail_domains),
        )

    def _judge(self, run: Run) -> _Charges:
        was_verified = is_verified = is_open = is_checked = False
        for person, check in ((each, check) for each in run.people for check in each.checks):
            was_verified |= check.verified
            if not person.found.full_name:
                is_verified |= check.verified
                continue
            checked, evidence = check.checked, check.checked.evidence
            judged, readings = self.rules.judge(checked)
            pairs = list(zip(evidence, readings, strict=True))
            self.missed.update(_unread(found) for found, reading in pairs if not reading)
            # Deliverable and not verified: no configured verifier vouched for it then.
            vouched = check.verified or checked.verdict is not Verdict.DELIVERABLE
            holds = vouched and judged.verdict is Verdict.DELIVERABLE
            was, now = (
                Answer(
                    verified,
                    (said.verdict, said.address),
                    {
                        "mail_domain": checked.mail_domain,
                        "verdict": said.verdict,
                        "reasons": [each.reason for each in reasons],
                        "address": said.address,
                    },
                )
                for verified, said, reasons in (
                    (check.verified, checked, evidence),
                    (holds, judged, [reading or found for found, reading in pairs]),
                )
            )
            rules = next((found.rules for found in evidence if found.rules), None)
            self._compare(run, rules, was, now, person)
            is_checked = True
            is_verified |= holds
            # Where every address that was tried is refused, others would be tried.
            is_open |= check.verified and judged.verdict is Verdict.UNDELIVERABLE
        if not is_checked:
            self.missed["no mailbox was checked"] += 1
        return _charges(was=was_verified, now=is_verified, is_open=is_open)


def _charges(*, was: bool, now: bool, is_open: bool) -> _Charges:
    """Return the changes of the charges of a run.

    Args:
        was: Whether a shown person had a verified e-mail.
        now: Whether one would have, of those whose mailboxes were checked.
        is_open: Whether further mailboxes would be checked.
    """
    if now and not was:
        return {False: "gained"}
    if not now and (was or is_open):
        return {was: "open" if is_open else "lost"}
    return {}


def _place(
    person: str,
    ranked: Mapping[str, RankedPerson],
    other: Mapping[str, RankedPerson],
    left_out: str | None,
) -> Answer:
    """Return the place of *person*; only places among the people in *other* are compared."""
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


def _unread(found: Evidence) -> str:
    """Return why *found* could not be read again."""
    if found.verifier != SMTP:
        return "read by another verifier"
    if all(line.who != "S" for line in found.conversation):
        return "no mail server said anything"
    return "its reply about the address is not stored"
