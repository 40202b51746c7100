"""Text that is ASCII takes a short way, and comes out as text does that is not."""

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.plain_text import flat, folded, plain

ASCII = st.text(st.characters(max_codepoint=0x7F), max_size=60)


@given(ASCII)
def test_ascii_is_made_plain_as_beside_another_letter(text: str) -> None:
    assert plain(text).split() == plain(f"{text} é").split()[:-1]


@given(ASCII)
def test_ascii_is_folded_as_beside_another_letter(text: str) -> None:
    assert f"{folded(text)} e" == folded(f"{text} é")


@given(ASCII)
def test_ascii_is_flat_as_beside_another_letter(text: str) -> None:
    assert flat(text).split() == flat(f"{text} é").split()[:-1]
