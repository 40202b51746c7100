"""What the outcome of one query says of itself, and of those that follow."""

import pytest

from cs.client import (
    BadRequest,
    ClientError,
    Done,
    NotFound,
    NotThisApi,
    Outcome,
    Paused,
    Query,
    QuotaExceeded,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
    Usage,
)
from cs.client.many import ABSENT_AFTER, AbsenceDetector

FOREIGN = NotThisApi("a proxy", code="not_this_api", status=403)
DONE = Outcome(Query("Acme"), Done(id="srch_1", brand="Acme", usage=Usage(9, 1, 8)))


def outcome(error: ClientError, search: str = "", *, closed: bool = False) -> Outcome:
    return Outcome(Query("Acme", search=search), error=error, closed=closed)


def test_a_search_and_an_error_that_will_not_change_are_final() -> None:
    not_found = NotFound("no such search", code="not_found", status=404)

    assert DONE.is_final
    assert outcome(BadRequest("no brand", code="invalid_request", status=400)).is_final
    assert outcome(not_found, "srch_1").is_final
    assert not outcome(not_found).is_final, "the address is wrong"
    assert not outcome(ServerError("oh", code="server_error", status=500)).is_final


@pytest.mark.parametrize("kind", [Unauthorized, QuotaExceeded, RateLimited, Paused])
def test_what_refuses_every_new_search_closes_the_others(kind: type[ClientError]) -> None:
    assert outcome(kind("no", code="no")).closes_others


def test_nobody_is_there_after_foreign_answers_in_a_row() -> None:
    absence = AbsenceDetector()

    assert not any(absence.note(outcome(FOREIGN)) for _ in range(ABSENT_AFTER - 1))
    assert not absence.note(DONE), "the row begins anew"
    noted = [absence.note(outcome(FOREIGN)) for _ in range(ABSENT_AFTER)]
    assert noted == [False] * (ABSENT_AFTER - 1) + [True]


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("refused"),
        Unauthorized("no", code="unauthorized", status=401),
        NotFound("nothing here", code="not_found", status=404),
    ],
)
def test_nobody_is_there_when_the_address_or_the_key_is_wrong(error: ClientError) -> None:
    assert AbsenceDetector().note(outcome(error))


def test_a_search_that_is_not_found_is_no_wrong_address() -> None:
    not_found = NotFound("no such search", code="not_found", status=404)

    assert not AbsenceDetector().note(outcome(not_found, "srch_1"))
