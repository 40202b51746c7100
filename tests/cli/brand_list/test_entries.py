"""A journal that another version wrote is read, and goes on in the same form."""

from pathlib import Path

import pytest

from cs.cli.brand_list.entries import SearchStarted, decode, encode
from cs.cli.brand_list.journal import Journal
from cs.client import Done

#: As it was written from the first version on; never edited, only added to.
BEFORE = (
    b'{"kind":"begun","identity":"i1","place":"/lists/brands.csv"}',
    (
        b'{"kind":"asked","key":"k1","at":"2026-07-01T12:00:00Z",'
        b'"row":{"number":2,"brand":"Acme","domain":"acme.example"}}'
    ),
    b'{"kind":"started","key":"k1","search":"srch_1"}',
    (
        b'{"kind":"ended","key":"k1","row":{"number":2,"brand":"Acme","domain":"acme.example"},'
        b'"search":{"status":"done","id":"srch_1","brand":"Acme",'
        b'"usage":{"quota":9,"used":1,"remaining":8},"domain":null,'
        b'"linkedin_company_url":null,"parent_company":null,"instagram":null,"tiktok":null,'
        b'"cached":null,"charged":true,"searched_at":null,"contacts":[]},'
        b'"other":null,"error":null}'
    ),
    b'{"kind":"asked","key":"k2","at":"2026-07-01T12:00:00Z","row":null}',
    b'{"kind":"lost","key":"k2"}',
    (
        b'{"kind":"asked","key":"k3","at":"2026-07-01T12:00:00Z",'
        b'"row":{"number":4,"brand":"Zenith","domain":null}}'
    ),
    b'{"kind":"refused","key":"k3"}',
    (
        b'{"kind":"ended","key":"k4","row":{"number":5,"brand":"x","domain":null},"search":null,'
        b'"other":null,"error":{"code":"invalid_request","status":400,"message":"no"}}'
    ),
    b'{"kind":"again","key":"k4"}',
    b'{"kind":"moved","identity":"i2"}',
)


@pytest.mark.parametrize("line", BEFORE, ids=lambda line: line[9:16].decode())
def test_an_entry_is_written_as_it_was_read(line: bytes) -> None:
    assert encode(decode(line)) == line + b"\n"


def test_an_older_journal_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "found.csv.journal"
    path.write_bytes(b"".join(line + b"\n" for line in BEFORE))

    with Journal(path, "i2", "/elsewhere/brands.csv") as journal:
        journal.append(SearchStarted("k5", "srch_5"))

    assert (journal.identity, journal.place) == ("i2", "/lists/brands.csv")
    assert journal.requested.keys() == {"k1", "k2"}
    assert isinstance(journal.finished["k1"].search, Done)
    assert journal.finished.keys() == {"k1"}
    assert journal.lost == {"k2": 1}
    assert journal.started == {"k1": "srch_1", "k5": "srch_5"}
    assert journal.last_search == "srch_5"
    assert journal.idempotency_key("k4") == "k4-1"
    assert path.read_bytes().splitlines()[:-1] == list(BEFORE)
