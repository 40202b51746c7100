"""What is reused, by whom, for how long; and who shares a lookup."""

from datetime import datetime, timedelta

import pytest

from conformance.rows import row
from conformance.target import Caller, Target

pytestmark = pytest.mark.slow

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@row("C1", "1.4-reused")
def test_case_width_and_spaces_make_no_other_brand(fresh: Target) -> None:
    caller = fresh.caller()
    caller.found(brand="Straße Veltrana")
    for brand in ("STRASSE veltrana", "  strasse   Veltrana ", "Ｓtraße Ｖeltrana"):
        assert caller.found(brand=brand)["cached"] is True, brand


@row("C1", "R7")
def test_a_name_is_reused_for_the_domain_it_matched_and_for_no_other(fresh: Target) -> None:
    caller = fresh.caller()
    matched = caller.found(brand="Veltrana")
    same = caller.found(brand="Veltrana", domain="veltrana.test")
    other = caller.found(brand="Veltrana", domain="corvelune.test")
    domain_alone = caller.found(domain="veltrana.test")

    assert matched["domain"] == "veltrana.test"
    assert (same["cached"], same["searched_at"]) == (True, matched["searched_at"])
    assert (other["cached"], domain_alone["cached"]) == (False, False)


@row("C1", "R7")
def test_a_brand_with_its_domain_is_not_reused_for_the_bare_name(fresh: Target) -> None:
    caller = fresh.caller()
    caller.found(brand="Halden", domain="haldenaudio.example")

    assert caller.found(brand="Halden")["cached"] is False


@row("C2", "S17", "5.4")
def test_another_key_reuses_the_answer_in_a_record_of_its_own(fresh: Target) -> None:
    first, other = fresh.caller(), fresh.caller()
    made = first.found(brand="Veltrana")
    reused = other.found(brand="VELTRANA")

    assert (reused["cached"], reused["brand"]) == (True, "VELTRANA")
    assert reused["id"] != made["id"]
    assert reused["contacts"] == made["contacts"]
    assert first.http.get(f"/searches/{reused['id']}").status_code == 404


@row("C3", "O7", "3-running")
def test_the_same_input_again_while_it_runs_is_the_same_search(fresh: Target) -> None:
    caller = fresh.caller()
    first = caller.ask(brand="Quellmark").json()
    again = caller.ask(brand=" Quellmark ")
    other_place = caller.ask(brand="Zephrine")
    fresh.clock.advance(timedelta(seconds=100))

    assert (again.status_code, again.json()["id"]) == (202, first["id"])
    assert other_place.status_code == 202
    assert caller.ended(first["id"])["usage"]["used"] == 1


@row("C4")
def test_another_spelling_is_a_record_of_its_own_on_the_same_run(fresh: Target) -> None:
    caller = fresh.caller()
    records = [caller.ask(brand=brand).json() for brand in ("Quellmark", "QUELLMARK")]
    fresh.clock.advance(timedelta(seconds=100))
    ended = [caller.ended(record["id"]) for record in records]

    assert [r["brand"] for r in records] == ["Quellmark", "QUELLMARK"]
    assert records[0]["id"] != records[1]["id"]
    assert ended[0]["searched_at"] == ended[1]["searched_at"]
    assert caller.usage()["used"] == 2


@row("C5", "L13")
def test_two_keys_at_once_share_a_run_and_each_pays(fresh: Target) -> None:
    callers = [fresh.caller(), fresh.caller()]
    ids = [caller.ask(brand="Quellmark").json()["id"] for caller in callers]
    fresh.clock.advance(timedelta(seconds=100))
    ended = [caller.ended(search) for caller, search in zip(callers, ids, strict=True)]

    assert ended[0]["searched_at"] == ended[1]["searched_at"]
    assert [(r["cached"], r["charged"], r["usage"]["used"]) for r in ended] == [
        (False, True, 1)
    ] * 2


@row("C6", "R6", "8-free", "3-failed")
@pytest.mark.parametrize(
    ("brand", "reason", "reused"),
    [
        ("Nowhere Known Trading", "no_linkedin", True),
        ("Grimsole", "no_contacts", True),
        ("Harrowfinch", "no_emails", True),
        ("Okendra", "no_emails", False),  # full mailboxes: inconclusive
        ("Wexmoor", "scrape_error", False),
        ("Ravoska", "error", False),
        ("Zephrine", "timeout", False),
    ],
)
def test_a_conclusive_failure_is_reused_and_a_breakdown_is_not(
    fresh: Target, brand: str, reason: str, reused: bool
) -> None:
    caller = fresh.caller()
    records = []
    for _ in range(2):
        search = caller.ask(brand=brand).json()["id"]
        fresh.clock.advance(timedelta(seconds=130))
        records.append(caller.ended(search))
    # A reused one is answered at once: the first answer of the second round had ended already.
    assert [r["reason"] for r in records] == [reason, reason]
    assert [r["cached"] for r in records] == [False, reused]
    assert [r["charged"] for r in records] == [False, False]


@row("C6")
def test_a_forgotten_brand_is_searched_live(fresh: Target) -> None:
    caller = fresh.caller()
    caller.found(brand="Grimsole")
    fresh.command(["brands", "forget", "Grimsole"])

    assert caller.found(brand="Grimsole")["cached"] is False


@row("C7", "1.5", "8-again", "C8")
def test_reuse_ends_after_thirty_days_to_the_second(fresh: Target) -> None:
    caller = fresh.caller()
    first = caller.found(brand="Veltrana")
    # Shown in whole seconds: the run ended in the second that begins there.
    ended_at = datetime.fromisoformat(first["searched_at"])
    fresh.clock.advance_to(ended_at + 30 * DAY - fresh.margin)
    last = caller.found(brand="Veltrana")
    fresh.clock.advance_to(ended_at + 30 * DAY + SECOND)
    after = caller.found(brand="Veltrana")

    assert (first["cached"], last["cached"], after["cached"]) == (False, True, False)
    assert last["searched_at"] == first["searched_at"]
    assert datetime.fromisoformat(after["searched_at"]) >= ended_at + 30 * DAY


@row("C8", "1.4-reused")
def test_a_reused_answer_is_of_the_time_of_its_run(fresh: Target) -> None:
    caller = fresh.caller()
    before = fresh.clock.now()
    made = caller.found(brand="Veltrana")
    after = fresh.clock.now()
    fresh.clock.advance(3 * DAY)
    reused = caller.found(brand="Veltrana")

    assert before - SECOND < datetime.fromisoformat(made["searched_at"]) <= after
    assert reused["searched_at"] == made["searched_at"]
    assert reused["cached"] is True


@row("C9", "3-finished", "S13", "4.2")
def test_a_finished_search_is_the_same_for_ever_but_for_usage(fresh: Target) -> None:
    caller = fresh.caller()
    made = caller.found(brand="Veltrana")
    caller.found(brand="Veltrana")
    fresh.a_month_later()
    caller.found(brand="Veltrana")
    later = caller.read(made["id"])

    assert later.pop("usage")["used"] == 3
    assert made.pop("usage")["used"] == 1
    assert later == made


@row("C10", "3-reused")
@pytest.mark.parametrize("wait", [True, False])
def test_wait_makes_no_difference_to_a_reused_brand(caller: Caller, wait: bool) -> None:
    caller.found(brand="Veltrana")
    answer = caller.ask(brand="Veltrana", wait=wait)

    assert (answer.status_code, answer.json()["cached"]) == (200, True)


@row("C11", "C9")
def test_an_erased_person_is_in_no_answer_and_an_answer_without_email_is_no_hit(
    fresh: Target,
) -> None:
    caller = fresh.caller()
    # Who was erased in an earlier run stays so.
    found = (caller.found(brand=brand) for brand in ("Auberlin", "Pemberlux", "Thistlegate"))
    made = next((record for record in found if record["status"] == "done"), None)
    assert made is not None, "three runs have erased all people here: start a fresh sandbox"
    (email,) = [c["email"] for c in made["contacts"] if c["email"]]
    fresh.command(["people", "erase", "--email", email])
    read = caller.read(made["id"])
    again = caller.ask(brand=made["brand"], wait=True)

    assert email not in str(read)
    assert (read["status"], read["charged"]) == ("done", True)
    assert again.json()["cached"] is False
    assert email not in again.text
