"""The least recently used entry makes room."""

from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.lru import LruDict


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
