"""`cs resolve`, `cs classify`, `cs verify`: one item, or one a line."""

import select
import signal

import msgspec
import pytest

from cli.command import Here, ran, started

pytestmark = pytest.mark.slow

HEADLINE = '{"id": 1, "headline": "Head of Social at Acme"}'


def lines(*texts: str | bytes) -> bytes:
    return b"".join((t if isinstance(t, bytes) else t.encode()) + b"\n" for t in texts)


def test_classify_answers_in_a_stable_shape(here: Here) -> None:
    row = here("classify", "Head of Social at Acme", "--json").rows[0]

    assert list(row) == ["id", "family", "level", "eligible", "title", "company", "score"]
    assert (row["id"], row["family"], row["company"]) == ("1", "social", "Acme")


def test_resolve_answers_in_a_stable_shape(here: Here) -> None:
    asked = lines('{"id": "a", "query": {"brand": "Nike", "domain": "nike.com"}}')

    row = here("resolve", "-", "--offline", "--json", stdin=asked).rows[0]

    assert list(row) == [
        *("id", "status", "domain", "linkedin", "parent", "instagram", "tiktok", "sources"),
        "score",
    ]
    assert (row["id"], row["status"], row["domain"]) == ("a", "matched", "nike.com")
    assert row["sources"] == {"directory": "used"}


def test_verify_answers_in_a_stable_shape(here: Here) -> None:
    asked = lines("no address", '{"address": "@"}')

    rows = here("verify", "-", "--json", stdin=asked).rows

    assert [list(row) for row in rows] == [["address", "verdict", "reason", "evidence"]] * 2
    assert [row["address"] for row in rows] == ["no address", "@"]
    assert {row["verdict"] for row in rows} == {"undeliverable"}


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("no, really", "line 2: JSON is malformed: invalid character (byte 4); a line is {"),
        ('{"id": 7}', "line 2: Object missing required field `headline`"),
        ('{"id": 7, "headline": 5}', "line 2: Expected `str`, got `int` - at `$.headline`"),
        (b"\xff", "line 2: JSON is malformed"),
        (b'{"id": 7, "headline": "\xff"}', "line 2: it is not UTF-8"),
        ('{"id": 7, "headline": "' + "x" * 70_000 + '"}', "line 2: it is longer than 64 KiB"),
        ('{"headline": "x", "x": ' + "[" * 9_000, "line 2: it is nested too deeply"),
    ],
)
def test_a_bad_line_is_told_and_those_after_it_are_read(
    here: Here, bad: str | bytes, told: str
) -> None:
    asked = lines(HEADLINE, bad, "", HEADLINE)

    answered = here("classify", "-", "--json", stdin=asked)

    assert told in answered.told(code=1)
    first, wrong, last = answered.rows
    assert first == last
    assert list(wrong) == ["id", "error"]
    assert told in wrong["error"]


def test_the_id_of_a_bad_line_is_given_back_where_it_can_be_read(here: Here) -> None:
    asked = lines('{"id": 7}', '{"id": [7]}', "{")

    answered = here("classify", "-", "--json", stdin=asked)

    assert [row["id"] for row in answered.rows] == [7, None, None]


def test_people_are_told_bad_lines_on_standard_error_alone(here: Here) -> None:
    answered = here("classify", "-", stdin=lines("nonsense", HEADLINE))

    assert answered.out == "social, head, eligible: Head of Social at Acme\n"
    assert answered.told().startswith("line 1: ")


def test_a_brand_no_search_would_take_keeps_the_shape_of_its_row(here: Here) -> None:
    asked = lines('{"id": 1, "query": {"brand": "a"}}', '{"id": 2, "query": {"brand": "Nike"}}')

    answered = here("resolve", "-", "--offline", "--json", stdin=asked)

    assert answered.told().startswith("line 1: brand must have at least 2 characters")
    assert [(row["id"], row["status"]) for row in answered.rows] == [
        (1, "no_match"),
        (2, "matched"),
    ]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["resolve"], 2, "name a brand, a --domain or both, or read JSON lines with -"),
        (["resolve", "a", "--offline"], 1, "brand must have at least 2 characters"),
        (["classify"], 2, "HEADLINE requires an argument"),
        (["classify", "--jsn"], 2, "there is no option --jsn"),
        (["verify", "-x"], 2, "there is no option -x"),
    ],
)
def test_what_is_wrong_is_told(here: Here, words: list[str], code: int, told: str) -> None:
    assert told in here(*words).told(code)


def test_a_headline_may_begin_with_a_hyphen(here: Here) -> None:
    assert here("classify", "- Head of Social").out.startswith("social, head")


def test_settings_that_name_what_is_not_there_are_told(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CS_VERIFIERS", "smtp,psychic")

    told = here("verify", "a@b.example").told(2)

    assert "'psychic' is not installed; there are " in told
    assert "smtp" in told.partition("there are ")[2]


def test_every_line_is_answered_before_the_next_is_sent() -> None:
    with started("classify", "-", "--json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            print(HEADLINE.replace("1", str(number)), file=process.stdin, flush=True)
            assert select.select([process.stdout], [], [], 30)[0], "nothing in half a minute"
            assert msgspec.json.decode(process.stdout.readline())["id"] == number


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


def test_ctrl_c_ends_the_wait_for_a_line_silently() -> None:
    with started("verify", "-", "--json") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        print("nobody", file=process.stdin, flush=True)
        assert process.stdout.readline()

        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=30) == -signal.SIGINT
        assert process.stderr.read() == ""


def test_an_input_without_lines_is_answered_by_nothing() -> None:
    assert ran("classify", "-", "--json").out == ""
