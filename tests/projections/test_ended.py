"""What is kept of ended searches is what the views say of them."""

from cs.domain.key import settled
from cs.eventlog.port import RecordedEvent
from cs.projections.ended import EndedSearches
from cs.projections.searches import SearchRow
from domain.acme_run import AT
from projections.history import admitted

ADMITTED = RecordedEvent(1, "key-one", 0, admitted("s", "brand-a.1"))
ENDED = RecordedEvent(2, "key-one", 1, settled("s", "brand-a.1", "done", 1, cached=True, at=AT))
ROW = SearchRow(
    key_id="one", brand="Acme", lookup="brand-a.1", status="done", cached=True, charged=True
)


def test_a_search_is_known_once_it_has_ended() -> None:
    ended = EndedSearches()

    ended.on_events([ADMITTED])
    running = ended.get("s")
    ended.on_events([ENDED])

    assert running is None
    assert ended.get("s") == ROW


def test_hearing_of_it_twice_leaves_it_ended() -> None:
    ended = EndedSearches()

    ended.on_events([ADMITTED, ENDED])
    ended.on_events([ADMITTED, ENDED])

    assert ended.get("s") == ROW


def test_its_beginning_heard_again_does_not_make_it_run() -> None:
    ended = EndedSearches()

    ended.on_events([ADMITTED, ENDED])
    ended.on_events([ADMITTED])

    assert ended.get("s") == ROW


def test_the_end_of_a_search_nobody_heard_of_says_nothing() -> None:
    ended = EndedSearches()

    ended.on_events([ENDED])

    assert ended.get("s") is None


def test_one_that_was_read_is_kept_if_it_has_ended() -> None:
    ended = EndedSearches()

    ended.keep("s", ROW)
    ended.keep("t", SearchRow(key_id="one", brand="Acme", lookup="brand-a.1"))

    assert ended.get("s") == ROW
    assert ended.get("t") is None


def test_the_least_recently_used_goes_first() -> None:
    ended = EndedSearches(most=2)
    ended.keep("s", ROW)
    ended.keep("t", ROW)
    ended.get("s")

    ended.keep("u", ROW)

    assert [ended.get(search) is not None for search in "stu"] == [True, False, True]
