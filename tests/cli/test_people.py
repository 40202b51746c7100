"""`cs people` on a made-up history, in a data folder and in databases."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.command import Here
from harness.in_process import on_folder
from harness.on_data import data_of
from harness.outside import ADA
from history.people import PastLookup, Seen, store
from system.older_keys.forms import form_of

PROFILE = "https://www.linkedin.com/in/jane-roe"
JANE = Seen("Jane Roe", "Acme", PROFILE, "jane@acme.test")
UNLINKED = Seen("Jane Roe", "Acme")
JO = Seen("Jo Ode", "Acme", "https://www.linkedin.com/in/jo-ode", "jo@acme.test")
HISTORY = [PastLookup("Acme", (JANE, JO)), PastLookup("Zenith", (JO, UNLINKED))]
WHY = "Headlines come without titles, ticket 4711"


@pytest.fixture(params=["files", pytest.param("databases", marks=pytest.mark.slow)])
async def at(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """The option that names the data of `HISTORY`."""
    async with form_of(request, tmp_path) as form:
        async with data_of(form.settings) as data:
            await store(data.log, HISTORY)
        for name, value in form.environment.items():
            monkeypatch.setenv(name, value)
        yield f"--data-dir={form.settings.data_dir}"


@pytest.mark.slow
def test_an_erasure_lists_the_exports_that_may_hold_the_person(
    at: str, here: Here, tmp_path: Path
) -> None:
    out = tmp_path / "acme.ndjson"
    for words in (
        ("--brand=acme", f"--out={out}"),
        ("--type=lookup-started",),
        ("--category=key",),
    ):
        assert here("events", "export", *words, at, "--reveal", WHY).code == 0
    sealed = tmp_path / "sealed.ndjson"
    assert here("events", "export", at, f"--out={sealed}").code == 0
    assert "Jane Roe" in out.read_text()
    assert "Jane Roe" not in sealed.read_text()

    (foreseen,) = here(
        "people", "erase", f"--profile={PROFILE}", "--dry-run", "--json", at
    ).rows
    message = here("people", "erase", f"--profile={PROFILE}", at, width=200)
    (again,) = here("people", "erase", f"--profile={PROFILE}", "--json", at).rows

    (one,) = foreseen["disclosed"]
    assert (one["command"], one["file"], one["why"]) == (
        "events export",
        "acme.ndjson",
        WHY,
    )
    assert again["disclosed"] == [one]
    assert re.search(r"^lookups +2$", message.out, re.MULTILINE)
    assert "1 disclosure may hold this person; delete what was written then:" in message.out
    assert "acme.ndjson" in message.out
    after = here("events", "export", at, "--reveal", WHY)
    assert "Jane" not in after.out
    assert "Jo Ode" in after.out
    (still,) = here("people", "erase", f"--profile={PROFILE}", "--json", at).rows
    assert still["disclosed"] == [one], "what was opened afterwards cannot hold them"


def test_all_that_is_held_on_a_person_is_exported_and_that_it_was(
    at: str, here: Here, tmp_path: Path
) -> None:
    assert here("events", "show", "2", at, "--reveal", WHY).code == 0
    out = tmp_path / "jane.json"

    (by_profile,) = here("people", "export", f"--profile={PROFILE}", "--json", at).rows
    indented = here("people", "export", f"--profile={PROFILE}", at).out
    message = here("people", "export", "--email=JANE@acme.test", "--json", at, f"--out={out}")

    (by_email,) = [msgspec.json.decode(line) for line in out.read_bytes().splitlines()]
    assert message.rows == [{"file": str(out), "records": 2}]
    assert out.stat().st_mode & 0o777 == 0o600
    assert by_email["records"] == by_profile["records"]
    acme, zenith = by_profile["records"]
    assert [r["query"]["brand"] for r in (acme, zenith)] == ["Acme", "Zenith"]
    assert acme["person"]["found"]["linkedin_url"] == PROFILE
    assert [m["checked"]["address"] for m in acme["person"]["checks"]] == ["jane@acme.test"]
    assert zenith["person"]["found"]["linkedin_url"] is None
    assert [d["command"] for d in by_profile["disclosures"]] == ["events show"]
    assert [d["command"] for d in by_email["disclosures"]] == [
        "events show",
        "people export",
        "people export",
    ]
    assert msgspec.json.decode(indented)["records"] == by_profile["records"]
    assert (by_profile["suppressed"], by_profile["unread"]) == (False, [])
    assert "Jo Ode" not in str(by_profile)
    *_, last = here("log", "trail", "--json", at).rows
    assert (last["command"], last["why"]) == (
        "people export",
        "Asked for by the person, GDPR article 15",
    )
    made = here("events", "export", "--type=disclosure.made", at)
    assert made.rows[-1]["data"]["file"] == "jane.json"
    assert made.rows[-1]["data"]["asked"]["people"] == [
        f"{r['lookup']}#{r['person']['person']}" for r in (acme, zenith)
    ]
    assert "jane@" not in made.out
    (erased,) = here("people", "erase", f"--profile={PROFILE}", "--json", at).rows
    assert len(erased["disclosed"]) == 4
    trail = here("log", "trail", "--json", at).rows
    assert here("people", "export", f"--profile={PROFILE}", f"--out={out}", at).code == 2
    nowhere = f"--out={tmp_path / 'none' / 'jane.json'}"
    refused = here("people", "export", f"--profile={PROFILE}", nowhere, at).error(2)
    assert "cannot be written: there is no folder" in refused
    assert here("log", "trail", "--json", at).rows == trail, "nothing was disclosed"


def test_nothing_is_held_on_a_person_who_was_erased_or_never_found(at: str, here: Here) -> None:
    assert here("people", "erase", f"--profile={PROFILE}", at).code == 0

    (erased,) = here("people", "export", "--email=jane@acme.test", "--json", at).rows
    (nobody,) = here("people", "export", "--email=al@acme.test", "--json", at).rows

    for found in (erased, nobody):
        assert (found["known"], found["records"], found["pseudonym"]) == (False, [], None)
        assert found["disclosures"] == []
    assert (erased["suppressed"], nobody["suppressed"]) == (True, False)
    assert erased["suppressed_since"] is not None
    acts = here("log", "trail", "--json", at).rows
    assert [act["command"] for act in acts if "command" in act] == ["people export"] * 2


def test_an_address_of_several_people_reveals_none_of_them(at: str, here: Here) -> None:
    ran = here("people", "export", "--email=team@shared.test", at)

    assert ran.error().startswith("2 people go by that")
    assert here("events", "export", "--type=disclosure.made", at).out == ""


def test_it_is_stored_before_anything_is_shown(
    at: str, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr("cs.assembly.person_requests.held_on", interrupted)
        ended = here("people", "export", f"--profile={PROFILE}", at)

    assert (ended.code, ended.out) == (130, "")
    (act,) = here("log", "trail", "--json", at).rows[-1:]
    assert act["command"] == "people export"


def test_what_a_service_answered_with_is_what_is_exported(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def serve() -> tuple[str, str, list[dict[str, Any]]]:
        async with on_folder(folder) as service:
            key, other = await service.new_key(), await service.new_key()
            answers = [await service.search(who, brand="Acme") for who in (key, other, other)]
            return key.id, other.id, [answer.json() for answer in answers]

    key, other, answers = asyncio.run(serve())
    at = f"--data-dir={folder}"

    (found,) = here("people", "export", f"--profile={ADA.linkedin_url}", "--json", at).rows

    (record,) = found["records"]
    message = next(c for c in answers[0]["contacts"] if c["full_name"] == ADA.full_name)
    assert record["contact"].items() >= message.items()
    assert [(s["search"], s["key"]) for s in record["answered"]] == [
        (answers[0]["id"], key),
        (answers[1]["id"], other),
        (answers[2]["id"], other),
    ]
    assert [s["cached"] for s in record["answered"]] == [False, True, True]
    assert {s["key_label"] for s in record["answered"]} == {"test"}
    assert record["person"]["place"] == 1
    assert record["person"]["checks"][0]["checked"]["evidence"], "with what the verifier found"
    kept = datetime.fromisoformat(record["kept_until"]) - datetime.now(UTC)
    assert timedelta(days=24 * 31) < kept < timedelta(days=24 * 31 + 2)
    assert found["paid_calls"] == []
