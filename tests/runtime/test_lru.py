"""The least recently used entry makes room."""

from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.lru import LruDict


def test_whoever_asked_learns_what_made_room_and_not_what_was_taken_out() -> None:
    evicted: list[tuple[str, int]] = []
    entries = LruDict[str, int](1, lambda key, value: evicted.append((key, value)))
    entries["a"] = 1
    entries["b"] = 2
    entries.pop("b")
    entries["c"] = 3
    entries.evict()

    assert evicted == [("a", 1), ("c", 3)]
    assert entries.use("c") is None


def test_those_whose_time_is_over_go_as_far_as_the_first_that_may_not() -> None:
    gone: list[str] = []
    entries = LruDict[str, int](9, lambda key, _: gone.append(key))
    entries.update({"a": 1, "b": 2, "c": 7, "d": 1})

    entries.evict_while(lambda until: until < 5)
    assert (gone, list(entries)) == (["a", "b"], ["c", "d"])
    entries.evict_while(lambda until: until < 9)
    entries.evict_while(lambda _: True)
    assert (gone, list(entries)) == (["a", "b", "c", "d"], [])


@given(st.integers(0, 4), st.lists(st.tuples(st.sampled_from("sup"), st.integers(0, 6))))
def test_it_holds_the_most_recently_used(most: int, steps: list[tuple[str, int]]) -> None:
    entries = LruDict[int, int](most)
    expected: list[int] = []
    for what, key in steps:
        if what == "s":
            entries[key] = key
            expected = [*(each for each in expected if each != key), key][-most:]
            expected = expected if most else []
        elif what == "u":
            assert entries.use(key) == (key if key in expected else None)
            if key in expected:
                expected = [*(each for each in expected if each != key), key]
        else:
            entries.pop(key, None)
            expected = [each for each in expected if each != key]

        assert list(entries) == expected
