"""One search with all that lies behind it, sealed or in clear."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from cs.domain.causation import AnyCause
from cs.domain.contact import BrandFacts, Query
from cs.history.runs import Run
from cs.history.searches import ErasedSince, SearchAt
from cs.history.shown.people import ShownPerson, is_erased, shown_people
from cs.history.shown.stages import ShownStage, cost_in_words, cost_of, shown_stages


class ShownRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that answers the search, as far as it had come.

    Attributes:
        number: Counts the runs of its brand.
        position: Of the event that began it.
        took_s: Seconds; ``None``: it goes on.
        status: How brand resolution ended: matched, no_match or ambiguous.
        caused_by, finish_caused_by: What led to its beginning and to its end; ``None``: not
            known.
        cost, cost_said: What whom it asked cost, and what is known of that.
        erased: People of it who are erased by now; nothing is left of them.
    """

    lookup: str
    number: int
    query: Query
    position: int
    started_at: datetime
    deadline_at: datetime
    finished_at: datetime | None
    took_s: float | None
    outcome: str | None
    reusable: bool
    verified: int
    cut_off: bool
    caused_by: AnyCause | None
    finish_caused_by: AnyCause | None
    status: str | None
    brand: BrandFacts | None
    stages: Sequence[ShownStage]
    cost: Decimal | None
    cost_said: str
    people: Sequence[ShownPerson]
    erased: int


class ShownSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search as of a position.

    Attributes:
        position: It was so when this was the log's last.
        now: Whether it still is the log's last.
        revealed: Whether people are in clear.
        record: What ``GET /searches/{id}`` was answered with.  Sealed, a contact is the person
            with role and status.
        request: Of the POST; ``None``: not recorded.
        admitted_caused_by, settled_caused_by: What led to its being taken, and settled;
            ``None``: not known.
        waited_s: From the POST to the charge or its release, in seconds; ``None``: it runs.
        repeated: How often it was asked for again while it ran.
        reused: Whether it was answered from a run of before.
        erased_since: People who left the run after the position.
    """

    search: str
    key: str
    position: int
    now: bool
    revealed: bool
    record: Mapping[str, Any]
    admitted_position: int
    admitted_at: datetime
    request: str | None
    admitted_caused_by: AnyCause | None
    settled_position: int | None
    settled_at: datetime | None
    settled_caused_by: AnyCause | None
    waited_s: float | None
    repeated: int
    reused: bool
    run: ShownRun | None
    erased_since: Sequence[ErasedSince]


def shown_search(
    then: SearchAt,
    *,
    head: int,
    pseudonyms: Mapping[str, str],
    reveal: bool,
    prices: Mapping[str, Decimal] | None = None,
) -> ShownSearch:
    """Return *then* with its evidence.

    Args:
        then: As of a position.
        head: The log's last position now.
        pseudonyms: Of the run's people, by ``<lookup>#p1``; who is not in it is called so.
        reveal: Whether to show people in clear.
        prices: Of one question to a source or verifier, by name.
    """

    def pseudonym(person: str) -> str:
        name = f"{then.found.row.lookup}#{person}"
        return pseudonyms.get(name, name)

    settled = then.settled
    run = None
    if then.run is not None:
        people = shown_people(then.run, pseudonym, reveal=reveal)
        run = _run(then.run, people, shown_stages(then.run, prices or {}), prices or {})
    return ShownSearch(
        search=then.search,
        key=then.key_id,
        position=then.position,
        now=then.position >= head,
        revealed=reveal,
        record=_record(then, run, reveal=reveal),
        admitted_position=then.admitted_position,
        admitted_at=then.admitted.at,
        request=then.admitted.request,
        admitted_caused_by=then.admitted_caused_by,
        settled_caused_by=then.settled_caused_by,
        settled_position=then.settled_position,
        settled_at=settled.at if settled else None,
        waited_s=(settled.at - then.admitted.at).total_seconds() if settled else None,
        repeated=then.repeated,
        reused=then.found.row.cached,
        run=run,
        erased_since=then.erased_since,
    )


def people_of(then: SearchAt) -> list[str]:
    """Return the people of the run of *then* who are not erased, as ``<lookup>#p1``."""
    if then.run is None:
        return []
    lookup = then.run.lookup
    return [f"{lookup}#{each.person}" for each in then.run.people if not is_erased(each)]


def _record(then: SearchAt, run: ShownRun | None, *, reveal: bool) -> Mapping[str, Any]:
    record: dict[str, Any] = msgspec.json.decode(then.body)
    if reveal or "contacts" not in record:
        return record
    shown = [person for person in run.people if person.is_shown] if run else []
    contacts = record["contacts"]
    assert len(shown) == len(contacts), "the answer is of this run"
    record["contacts"] = [
        {
            "person": person.pseudonym,
            "family": person.family,
            "level": person.level,
            "email_status": contact["email_status"],
            "email_source": contact["email_source"],
        }
        for person, contact in zip(shown, contacts, strict=True)
    ]
    return record


def _run(
    run: Run,
    people: Sequence[ShownPerson],
    stages: Sequence[ShownStage],
    prices: Mapping[str, Decimal],
) -> ShownRun:
    took = None if run.finished_at is None else run.finished_at - run.started_at
    return ShownRun(
        lookup=run.lookup,
        number=run.number,
        query=run.query,
        position=run.position,
        started_at=run.started_at,
        deadline_at=run.deadline_at,
        finished_at=run.finished_at,
        took_s=None if took is None else took.total_seconds(),
        outcome=run.outcome,
        reusable=run.reusable,
        verified=run.verified,
        cut_off=run.cut_off,
        caused_by=run.caused_by,
        finish_caused_by=run.finish_caused_by,
        status=run.status,
        brand=run.brand,
        stages=stages,
        cost=cost_of(stages),
        cost_said=cost_in_words(stages, prices),
        people=people,
        erased=sum(is_erased(each) for each in run.people),
    )
