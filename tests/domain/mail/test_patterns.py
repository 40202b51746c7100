import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.patterns import FREQUENCIES, candidates, pattern_of
from cs.domain.mail.syntax import is_mail_domain, is_mailbox

DOMAIN = "acme.example"
names = (
    st.none()
    | st.text(max_size=30)
    | st.sampled_from(
        ["Jörg", "Anne-Marie", "O'Neill", "van der Berg", "李", "Ægir", "X", "de la Cruz"]
    )
)
named_addresses = st.lists(
    st.sampled_from(
        ["jl@acme.example", "JO@ACME.example", "jo@other.example", "a b@acme.example"]
    )
    | st.text(max_size=20),
    max_size=4,
).map(tuple)


def locals_of(first: str | None, last: str | None, **more: object) -> list[str]:
    found = candidates(first, last, DOMAIN, **more)  # type: ignore[arg-type]
    return [address.removesuffix(f"@{DOMAIN}") for address, _ in found]


#: Of Jo Lane, by the commonest pattern first.
JO_LANE = (
    *("jo.lane", "jlane", "jo", "lane", "jol", "jolane"),
    *("lane.jo", "jl", "j.lane", "jo_lane", "lanejo", "lanej"),
)


def test_the_commonest_patterns_come_first() -> None:
    assert locals_of("Jo", "Lane") == [*JO_LANE[:6]]
    assert locals_of("Jo", "Lane", limit=99) == [*JO_LANE]


def test_an_address_that_a_source_named_comes_first_of_all() -> None:
    named = ("J.X.Lane@acme.example", "jo@elsewhere.example", "jlane@acme.example")

    found = candidates("Jo", "Lane", DOMAIN, pattern="first.last", named=named, limit=3)

    assert found == (
        ("j.x.lane@acme.example", None),
        ("jlane@acme.example", "flast"),
        ("jo.lane@acme.example", "first.last"),
    )


def test_a_mailbox_of_another_person_on_the_same_page_is_no_candidate() -> None:
    named = ("press@acme.example", "info@acme.example", "max.moritz@acme.example")

    found = candidates("Jo", "Lane", DOMAIN, named=named)

    assert not {address for address, _ in found} & set(named)


def test_spellings_of_the_known_pattern_come_before_other_patterns() -> None:
    found = locals_of("Jürgen", "Groß", pattern="first.last", limit=3)

    assert found[0] == "juergen.gross"
    assert found[1] == "jurgen.gross"
    assert "." not in found[2]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("Jo", None, ["jo"]),
        ("Jo", "", ["jo"]),
        (None, "Lane", ["lane"]),
        (None, None, []),
        ("李", "雷", []),
        ("Anna", "van der Berg", ["anna.vanderberg", "avanderberg", "anna"]),
        ("Siobhán", "O'Neill", ["siobhan.oneill", "soneill", "siobhan"]),
        ("Anne-Marie", "Day", ["anne-marie.day", "aday", "anne-marie"]),
    ],
)
def test_names_as_they_come(first: str | None, last: str | None, expected: list[str]) -> None:
    assert locals_of(first, last, limit=3) == expected


def test_the_pattern_of_an_address_is_the_commonest_that_makes_it() -> None:
    assert [pattern_of(f"{each}@{DOMAIN}", "Jo", "Lane") for each in JO_LANE] == [*FREQUENCIES]
    assert pattern_of(f"JLane@{DOMAIN}", "Jo", "Lane") == "flast"
    assert pattern_of(f"li@{DOMAIN}", "Li", "Li") == "first"
    for other in ("info", "jo.laney"):
        assert pattern_of(f"{other}@{DOMAIN}", "Jo", "Lane") is None


@given(
    names,
    names,
    st.none() | st.sampled_from(list(FREQUENCIES)),
    named_addresses,
    st.integers(-1, 30),
)
def test_candidates_are_distinct_mailboxes_of_the_domain(
    first: str | None,
    last: str | None,
    pattern: str | None,
    named: tuple[str, ...],
    limit: int,
) -> None:
    found = candidates(first, last, DOMAIN, pattern=pattern, named=named, limit=limit)

    addresses = [address for address, _ in found]
    assert len(addresses) == len(set(addresses)) <= max(limit, 0)
    assert all(is_mailbox(a) and a == a.lower() for a in addresses)
    assert all(a.endswith(f"@{DOMAIN}") for a in addresses)
    assert found == candidates(first, last, DOMAIN, pattern=pattern, named=named, limit=limit)


@given(names, names)
def test_each_candidate_is_of_the_pattern_it_says_or_a_commoner_one(
    first: str | None, last: str | None
) -> None:
    order = list(FREQUENCIES)

    for address, pattern in candidates(first, last, DOMAIN, limit=50):
        told = pattern_of(address, first, last)
        assert pattern is not None
        assert told is not None
        assert order.index(told) <= order.index(pattern)


@given(names, names, st.integers(0, 20))
def test_a_lower_limit_only_cuts_the_end(
    first: str | None, last: str | None, limit: int
) -> None:
    everything = candidates(first, last, DOMAIN, limit=99)

    assert candidates(first, last, DOMAIN, limit=limit) == everything[:limit]


MAILBOXES = (
    *("jo@acme.example", "jo.lane+tag@acme.example", "o'neill@acme.example"),
    *('"jo lane"@acme.example', '"a@b"@acme.example', "jo@xn--mnchen-3ya.example"),
    f"{'x' * 64}@acme.example",
)
NO_MAILBOXES = (
    *("", "jo", "@acme.example", "jo@", "jo@acme", "jo@[192.0.2.1]", "jo@-acme.example"),
    *("jo@acme..example", "jo@acme.example.", ".jo@acme.example", "jo.@acme.example"),
    *("jo lane@acme.example", "jo\n@acme.example", "jo@acme.example\r\nDATA"),
    *('"jo"lane@acme.example', '"jo\n"@acme.example', "jö@acme.example", "jo@acmé.example"),
    *(f"{'x' * 65}@acme.example", f"jo@{'x' * 64}.example", f"jo@{'x.' * 126}example"),
)


def test_a_mailbox_is_what_a_mail_server_may_be_asked_about() -> None:
    assert [each for each in MAILBOXES if not is_mailbox(each)] == []
    assert [each for each in NO_MAILBOXES if is_mailbox(each)] == []
    assert is_mail_domain("acme.example")
    assert not is_mail_domain("localhost")
