"""What the log says of sources and verifiers, against a recount event by event."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.events import (
    AttemptFailed,
    BrandEvent,
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    MailDomainChecked,
    PeopleFound,
)
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import StageName
from cs.projections.source_weeks import figures_of, summed
from domain.acme_run import AT

names = st.sampled_from(["hunter", "smtp", "brave"])
small = st.integers(0, 9)
costs = st.lists(
    st.builds(
        SourceCost,
        name=names,
        asked=small,
        calls=small,
        micros=st.integers(0, 10**6),
        found=small,
        used=small,
    ),
    max_size=3,
    unique_by=lambda cost: cost.name,
).map(tuple)
stages: st.SearchStrategy[StageName] = st.sampled_from(
    ["brand-resolution", "contact-discovery", "ranking", "verification"]
)
tallies = st.dictionaries(names, st.integers(1, 9))
shared = {"lookup": st.just("brand-a.1"), "at": st.just(AT), "costs": costs}
events: st.SearchStrategy[BrandEvent] = st.one_of(
    st.builds(AttemptFailed, stage=stages, attempt=st.just(1), why=st.just("x"), **shared),
    st.builds(BrandResolved, status=st.just("no_match"), brand=st.none(), **shared),
    st.builds(ContactsDiscovered, people=st.just(()), conclusive=st.booleans(), **shared),
    st.builds(ContactsRanked, ranked=st.just(()), **shared),
    st.builds(MailDomainChecked, mail_domain=st.just("acme.example"), **shared),
    st.builds(
        LookupFinished,
        lookup=st.just("brand-a.1"),
        at=st.just(AT),
        outcome=st.just("done"),
        reusable=st.booleans(),
        verified=small,
        brand=st.none(),
        contacts=st.just(()),
        verified_from=tallies,
        verified_by=tallies,
    ),
    st.just(PeopleFound(lookup="brand-a.1", people=(), at=AT)),
)
STAGE_OF = {
    BrandResolved: "brand-resolution",
    ContactsDiscovered: "contact-discovery",
    ContactsRanked: "ranking",
    MailDomainChecked: "verification",
}
FIELDS = ("asked", "calls", "micros", "found", "used")


def recounted(history: list[BrandEvent]) -> Counter[tuple[str, str, str]]:
    """Count by stage, name and field, as one would by hand; what is 0 is left out."""
    counts = Counter[tuple[str, str, str]]()
    for event in history:
        if isinstance(event, LookupFinished):
            for name, people in event.verified_from.items():
                counts["contact-discovery", name, "verified"] += people
            for name, people in event.verified_by.items():
                counts["verification", name, "verified"] += people
        elif not isinstance(event, PeopleFound):
            stage = event.stage if isinstance(event, AttemptFailed) else STAGE_OF[type(event)]
            for cost in event.costs:  # type: ignore[union-attr]
                if cost.asked or cost.calls or cost.micros:
                    for field in FIELDS:
                        counts[stage, cost.name, field] += getattr(cost, field)
    return +counts


@given(st.lists(events, max_size=12), st.integers(0, 12))
def test_the_fold_is_a_recount_however_the_log_is_cut(
    history: list[BrandEvent], cut: int
) -> None:
    parts = (history[:cut], history[cut:])
    sums = [summed(f for event in part for f in figures_of(event)) for part in parts]
    folded = summed(figures for part in sums for figures in part)

    found = Counter(
        {
            (each.stage, each.name, field): getattr(each, field)
            for each in folded
            for field in (*FIELDS, "verified")
        }
    )
    assert +found == recounted(history)
    assert len({(each.stage, each.name) for each in folded}) == len(folded) <= 4 * 3
