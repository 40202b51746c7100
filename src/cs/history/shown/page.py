"""A search with its evidence as one page, for a ticket or an audit."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from cs.domain.rule_sets import NOT_RECORDED
from cs.history.page.blocks import Tone, badge, facts, fold, mono, note, section, table
from cs.history.page.drawing import seconds
from cs.history.page.markup import Html, el
from cs.history.page.shell import page
from cs.history.shown.people_page import evidence_of, people_table
from cs.history.shown.phrases import cause_words, good, outcome, people_were, yes
from cs.history.shown.run_page import asked_table, causes_table, run_facts, waterfall
from cs.history.shown.search import ShownRun, ShownSearch
from cs.projections.searches import instant

_MATCHED = (
    ("domain", "Web site"),
    ("linkedin_company_url", "LinkedIn"),
    ("parent_company", "Parent company"),
    ("instagram", "Instagram"),
    ("tiktok", "TikTok"),
)
#: Of contacts: column, and field.
_COLUMNS = {
    "Name": "full_name",
    "Title": "title",
    "Company": "company",
    "Location": "location",
    "E-mail": "email",
}
_SEALED_COLUMNS = {
    "Person": "person",
    "Role": "family",
    "Level": "level",
    "Verified by": "email_source",
}
_CAUSES = "cs events why shows for any position the whole chain, from the call to the charge."
_TONES: Mapping[str, Tone] = {"done": "good", "failed": "bad"}


def search_page(shown: ShownSearch) -> bytes:
    """Return *shown* as a page that stands by itself (`cs.history.page`)."""
    run = shown.run
    return page(
        str(shown.record["brand"]),
        _notes(shown),
        section("The answer", _answer(shown)),
        section("The search", _search(shown)),
        () if run is None else _run_sections(shown, run),
        lead=["Search ", mono(shown.search), " as of position ", str(shown.position)],
        foot=[
            f"Made of the event log up to position {shown.position}, by cs searches show. ",
            "Nothing of it is asked of anybody when it is opened.",
        ],
    )


def _notes(shown: ShownSearch) -> Iterator[Html]:
    if not shown.revealed:
        yield note(
            "People are sealed: who they are, their addresses and what mail servers said of "
            "them are not in this page."
        )
    else:
        yield note(
            "This page shows people in clear. Keep it as long as it is needed, and where only "
            "those see it who may.",
            tone="warn",
        )
    for erased in shown.erased_since:
        why = "nobody had been returned them for long" if erased.aged_out else "at their wish"
        yield note(
            f"Of this run {people_were(erased.people)} erased since, on ",
            instant(erased.at),
            f" (position {erased.position}; {why}). Nothing of them is left.",
            tone="warn",
        )


def _answer(shown: ShownSearch) -> Iterator[Html]:
    record = shown.record
    usage = record["usage"]
    yield facts(
        [
            ("Status", _status(shown)),
            *((("Why", outcome(record["reason"])),) if "reason" in record else ()),
            ("Charged", yes(record.get("charged"))),
            ("Reused from an earlier run", yes(record.get("cached"))),
            ("Searched at", record.get("searched_at")),
            (
                "Usage of the key",
                f"{usage['used']} of {usage['quota']}, {usage['remaining']} left",
            ),
            *((label, record[name]) for name, label in _MATCHED if record.get(name)),
        ]
    )
    contacts = record.get("contacts")
    if contacts:
        yield _contacts(contacts, revealed=shown.revealed)
    text = msgspec.json.format(msgspec.json.encode(record), indent=2).decode()
    yield fold("The record as JSON", el("pre", text))


def _contacts(contacts: Sequence[Mapping[str, str | None]], *, revealed: bool) -> Html:
    shown = _COLUMNS if revealed else _SEALED_COLUMNS
    rows = [
        (
            *(contact[name] or "–" for name in shown.values()),
            badge(str(contact["email_status"]), good(contact["email_status"] == "verified")),
        )
        for contact in contacts
    ]
    return table("People in the answer", (*shown, "Status"), rows)


def _search(shown: ShownSearch) -> Html:
    return facts(
        [
            ("Key", mono(shown.key)),
            (
                "Asked for",
                [instant(shown.admitted_at), f", position {shown.admitted_position}"],
            ),
            ("Request", mono(shown.request) if shown.request else NOT_RECORDED),
            ("Taken by", cause_words(shown.admitted_caused_by)),
            (
                "Settled",
                None
                if shown.settled_at is None
                else [instant(shown.settled_at), f", position {shown.settled_position}"],
            ),
            (
                "Settled by",
                cause_words(shown.settled_caused_by) if shown.settled_at else None,
            ),
            ("Waited", None if shown.waited_s is None else seconds(shown.waited_s)),
            ("Asked for again while it ran", f"{shown.repeated} times"),
        ]
    )


def _run_sections(shown: ShownSearch, run: ShownRun) -> Iterator[Html]:
    about = "The run of before that this search was answered from." if shown.reused else None
    began = "From the beginning of the run; a dashed line is its deadline."
    yield section("The run", run_facts(run), about=about)
    yield section("Stages and attempts", waterfall(run), about=began)
    yield section("What caused what", causes_table(run), about=_CAUSES)
    yield section("Who was asked", asked_table(run), about=f"Cost in money: {run.cost_said}.")
    yield section("Everybody considered", people_table(run))
    tried = [person for person in run.people if person.checks or person.opinion]
    if tried:
        yield section(
            "Addresses, and what was read of them",
            map(evidence_of, tried),
            about="The last reply about an address is shown as today's rules read it.",
        )


def _status(shown: ShownSearch) -> Html:
    status = str(shown.record["status"])
    return badge(status, _TONES.get(status, "plain"))
