"""`cs resolve`, `cs classify`, `cs verify`: one item, or one a line."""

import json
import select
import signal

import msgspec
import pytest

from cli.command import Here, started

pytestmark = pytest.mark.slow

HEADLINE = '{"id": 1, "headline": "Head of Social at Acme"}'


def lines(*texts: str | bytes) -> bytes:
    return b"".join((t if isinstance(t, bytes) else t.encode()) + b"\n" for t in texts)


def test_each_answers_in_a_stable_shape(here: Here) -> None:
    brands = lines('{"id": "a", "query": {"brand": "Nike", "domain": "nike.com"}}')
    addresses = lines("no address", '{"address": "@"}')

    (role,) = here("classify", "Head of Social at Acme", "--json").rows
    (brand,) = here("resolve", "-", "--offline", "--json", stdin=brands).rows
    verdicts = here("verify", "-", "--json", stdin=addresses).rows

    assert " ".join(role) == "id family level eligible title company score"
    assert (role["id"], role["family"], role["company"]) == ("1", "social", "Acme")
    assert " ".join(brand) == (
        "id status domain linkedin parent instagram tiktok sources score"
    )
    assert (brand["id"], brand["status"], brand["domain"]) == ("a", "matched", "nike.com")
    assert brand["sources"] == {"directory": "used"}
    assert [" ".join(row) for row in verdicts] == ["address verdict reason evidence"] * 2
    assert [row["address"] for row in verdicts] == ["no address", "@"]
    assert {row["verdict"] for row in verdicts} == {"undeliverable"}
    assert here("classify", "-", "--json", stdin=b"").out == ""


@pytest.mark.parametrize(
    ("bad", "id_", "message"),
    [
        ("no, really", None, "JSON is malformed: invalid character (byte 4); a line is {"),
        ('{"id": 7}', 7, "Object missing required field `headline`"),
        ('{"id": [7], "headline": "x"}', None, "Expected `int | str | null`, got `array`"),
        (b"\xff", None, "JSON is malformed"),
        (b'{"id": 7, "headline": "\xff"}', 7, "'utf-8' codec can't decode"),
        ('{"headline": "x", "x": ' + "[" * 9_000, None, "maximum recursion depth exceeded"),
    ],
)
def test_a_bad_line_is_reported_and_those_after_it_are_read(
    here: Here, bad: str | bytes, id_: int | None, message: str
) -> None:
    answered = here("classify", "-", "--json", stdin=lines(HEADLINE, bad, "", HEADLINE))

    assert f"line 2: {message}" in answered.error(code=1)
    first, wrong, last = answered.rows
    assert first == last
    assert (list(wrong), wrong["id"]) == (["id", "error"], id_)
    assert message in wrong["error"]


#: Asked without a domain; None: ambiguous.
MEANT: dict[str, str | None] = {
    # Consumer goods of many countries, as people write them.
    "Nestle": "nestle.com",
    "Heineken": "heineken.com",
    "NIVEA Deutschland": "nivea.com",
    "Colgate": "colgate.com",
    "Philips": "philips.com",
    "Pampers GmbH": "pampers.com",
    "Danone": "danone.com",
    "Mattel Inc.": "mattel.com",
    "Michelin": "michelin.com",
    "キヤノン": "canon.com",
    "ООО «Хайнц»": "heinz.com",
    "Gillete": "gillette.com",
    "삼성전자": "samsung.com",
    "海尔": "haier.com",
    "Ülker A.Ş.": "ulker.com.tr",
    # The larger brand of a name.
    "Absolut": "absolut.com",
    "Corona": "corona.com",
    "Tide": "tide.com",
    "Shell": "shell.com",
    "Omega": "omegawatches.com",
    "Apple": "apple.com",
    # Several that are as well known, and words that no brand owns alone.
    **dict.fromkeys(("Dove", "Delta", "Proton", "Oasis", "Metro", "Polo", "Pioneer", "Sprint")),
    **dict.fromkeys(("Eagle", "Phoenix", "Central", "Premier", "Victoria", "Royal", "Atlas")),
    "Expess": None,
}


def test_a_name_means_the_larger_brand_and_a_word_of_many_brands_none(here: Here) -> None:
    asked = lines(*(json.dumps({"id": n, "query": {"brand": n}}) for n in MEANT))
    with_site = '{"id": "Eagle", "query": {"brand": "Eagle", "domain": "eagle.cool"}}'

    found = here("resolve", "-", "--offline", "--json", stdin=asked).rows
    (eagle,) = here("resolve", "-", "--offline", "--json", stdin=lines(with_site)).rows

    assert {row["id"]: (row["status"], row["domain"]) for row in found} == {
        name: ("ambiguous" if domain is None else "matched", domain)
        for name, domain in MEANT.items()
    }
    assert (eagle["status"], eagle["domain"]) == ("matched", "eagle.cool")


def test_a_brand_that_no_search_takes_is_a_bad_line(here: Here) -> None:
    asked = lines('{"id": 1, "query": {"brand": "a"}}', '{"id": 2, "query": {"brand": "Nike"}}')

    answered = here("resolve", "-", "--offline", "--json", stdin=asked)

    assert answered.error().startswith("line 1: brand must have at least 2 characters")
    assert [(row["id"], row.get("status")) for row in answered.rows] == [
        (1, None),
        (2, "matched"),
    ]


def test_people_are_reported_bad_lines_on_standard_error_alone(here: Here) -> None:
    answered = here("classify", "-", stdin=lines("nonsense", HEADLINE))

    assert answered.out == "social, head, eligible: Head of Social at Acme\n"
    assert answered.error().startswith("line 1: ")
    assert here("classify", "- Head of Social").out.startswith("social, head")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["resolve"], 2, "name a brand, a --domain or both, or read JSON lines with -"),
        (["resolve", "a", "--offline"], 1, "brand must have at least 2 characters"),
        (["classify", "--jsn"], 2, "there is no option --jsn"),
        (["verify", "a@b.example"], 2, "'psychic' is not installed; there are "),
    ],
)
def test_what_is_wrong_is_reported(
    here: Here, words: list[str], code: int, message: str
) -> None:
    assert message in here(*words, CS_VERIFIERS="smtp,psychic").error(code)


def test_a_line_is_answered_before_the_next_and_ctrl_c_ends_the_wait_silently() -> None:
    with started("classify", "-", "--json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number in range(3):
            print(HEADLINE.replace("1", str(number)), file=process.stdin, flush=True)
            assert select.select([process.stdout], [], [], 30)[0], "nothing in half a minute"
            assert msgspec.json.decode(process.stdout.readline())["id"] == number

        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=30) == -signal.SIGINT
        assert process.stderr.read() == ""


def test_a_reader_that_leaves_ends_it_silently() -> None:
    with started("classify", "-", "--json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        print(HEADLINE, file=process.stdin, flush=True)
        assert process.stdout.readline()
        process.stdout.close()
        print(HEADLINE, file=process.stdin, flush=True)

        assert process.wait(timeout=30) == 1
        assert process.stderr.read() == ""
