"""The address of a profile, in one form however it was written."""

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.profile_url import person_page


@given(st.text("abcz019-", min_size=1))
def test_an_address_in_the_one_form_is_the_same_however_it_is_read(slug: str) -> None:
    url = f"https://www.linkedin.com/in/{slug}"

    assert person_page(url) == url
    assert person_page(f"http://uk.linkedin.com/in/{slug.upper()}/?trk=x") == url
