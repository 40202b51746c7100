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


def test_the_commonest_patterns_come_first() -> None:
    assert locals_of("Jo", "Lane") == ["jo.lane", "jlane", "jo", "lane", "jol", "jolane"]


def test_the_domains_own_pattern_comes_before_all() -> None:
    found = candidates("Jo", "Lane", DOMAIN, pattern="last.first", limit=2)

    assert found == (
        ("lane.jo@acme.example", "last.first"),
        ("jo.lane@acme.example", "first.last"),
    )


def test_an_address_that_a_source_named_comes_first_of_all() -> None:
    named = ("J.X.Lane@acme.example", "jo@elsewhere.example", "jlane@acme.example")

    found = candidates("Jo", "Lane", DOMAIN, pattern="first.last", named=named, limit=3)

    assert found == (
        ("j.x.lane@acme.example", None),
        ("jlane@acme.example", "flast"),
        ("jo.lane@acme.example", "first.last"),
    )


def test_a_mailbox_of_somebody_else_on_the_same_page_is_no_candidate() -> None:
    named = ("press@acme.example", "info@acme.example", "max.moritz@acme.example")

    found = candidates("Jo", "Lane", DOMAIN, named=named)

    assert not {address for address, _ in found} & set(named)


def test_an_unknown_pattern_changes_nothing() -> None:
    assert locals_of("Jo", "Lane", pattern="zodiac") == locals_of("Jo", "Lane")


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


@pytest.mark.parametrize(
    ("local", "pattern"),
    [
        ("jo.lane", "first.last"),
        ("JLane", "flast"),
        ("jo", "first"),
        ("lane", "last"),
        ("jol", "firstl"),
        ("jolane", "firstlast"),
        ("lane.jo", "last.first"),
        ("jl", "fl"),
        ("j.lane", "f.last"),
        ("jo_lane", "first_last"),
        ("lanejo", "lastfirst"),
        ("lanej", "lastf"),
        ("info", None),
        ("jo.laney", None),
    ],
)
def test_the_pattern_of_an_address_is_reported(local: str, pattern: str | None) -> None:
    assert pattern_of(f"{local}@{DOMAIN}", "Jo", "Lane") == pattern


def test_of_two_patterns_the_commoner_one_is_reported() -> None:
    assert pattern_of("li@acme.example", "Li", "Li") == "first"


def test_frequencies_are_shares_in_falling_order() -> None:
    shares = list(FREQUENCIES.values())

    assert shares == sorted(shares, reverse=True)
    assert 0.9 < sum(shares) <= 1.0


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


@pytest.mark.parametrize(
    "address",
    [
        "jo@acme.example",
        "jo.lane+tag@acme.example",
        "o'neill@acme.example",
        '"jo lane"@acme.example',
        '"a@b"@acme.example',
        f"{'x' * 64}@acme.example",
        "jo@xn--mnchen-3ya.example",
    ],
)
def test_a_mailbox(address: str) -> None:
    assert is_mailbox(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "jo",
        "@acme.example",
        "jo@",
        "jo@acme",
        "jo@[192.0.2.1]",
        "jo@-acme.example",
        "jo@acme..example",
        "jo@acme.example.",
        ".jo@acme.example",
        "jo.@acme.example",
        "jo lane@acme.example",
        "jo\n@acme.example",
        "jo@acme.example\r\nDATA",
        '"jo"lane@acme.example',
        '"jo\n"@acme.example',
        "jö@acme.example",
        "jo@acmé.example",
        f"{'x' * 65}@acme.example",
        f"jo@{'x' * 64}.example",
        f"jo@{'x.' * 126}example",
    ],
)
def test_no_mailbox(address: str) -> None:
    assert not is_mailbox(address)


def test_a_mail_domain_has_two_labels() -> None:
    assert is_mail_domain("acme.example")
    assert not is_mail_domain("localhost")
