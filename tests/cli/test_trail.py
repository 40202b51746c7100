"""Who did what to the service is in its log, and told by `cs keys show` and `cs log trail`."""

import os
import pwd
from pathlib import Path

import pytest

from cli.command import Here
from cs.assembly.operator_command import acting_operator
from cs.settings import Settings


def test_the_account_that_ran_a_command_is_told(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    me = pwd.getpwuid(os.getuid()).pw_name
    folder = f"--data-dir={tmp_path}"
    key = here("keys", "create", "--json", folder).rows[0]["id"]
    monkeypatch.setenv("CS_OPERATOR", "ci\u202e deploy\x07")
    here("keys", "grant", key, "5", folder)
    here("keys", "revoke", key, folder)

    (shown,) = here("keys", "show", key, "--json", folder).rows
    trail = here("log", "trail", "--json", folder).rows
    newest = here("log", "trail", "--json", "--last=1", folder).rows
    for_people = here("keys", "show", key, folder).out
    table = here("log", "trail", folder).out

    told = [(act["what"], act["by"]) for act in trail]
    assert told == [
        ("key_issued", me),
        ("quota_granted", "ci deploy"),
        ("key_revoked", "ci deploy"),
    ]
    assert {act["of"] for act in trail} == {f"key-{key}"}
    assert shown["history"] == trail
    assert newest == trail[-1:]
    assert "quota granted: 5  by ci deploy" in for_people
    assert "key revoked" in table
    assert "ci deploy" in table


def test_who_became_root_by_sudo_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "ada")

    assert acting_operator(Settings()) == "ada as root"
    assert acting_operator(Settings(operator="night shift")) == "night shift"


def test_an_account_without_a_name_is_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)

    assert acting_operator(Settings()) == "uid 3999999999"


def test_pause_forget_and_erase_are_in_the_trail(folder: Path, here: Here) -> None:
    at = f"--data-dir={folder}"
    here("people", "erase", "--email=jane@acme.example", at)

    acts = here("log", "trail", "--json", at).rows

    assert acts[-1]["what"] == "person_suppressed"
    assert acts[-1]["by"] == acting_operator(Settings())
    assert "jane" not in str(acts)


def test_no_act_is_left_out_unsaid(
    folder: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table has the newest and says of how many; JSON has all; so has --last 0."""
    monkeypatch.setattr("cs.cli.log.NEWEST", 2)
    at = f"--data-dir={folder}"
    for n in range(3):
        here("keys", "create", f"--label={n}", at)

    table = here("log", "trail", at).out.splitlines()

    assert len(here("log", "trail", "--json", at).rows) == 4
    assert table[-1] == "the newest 2 of 4; --last 0 shows all"
    assert len(table) == 4
    assert len(here("log", "trail", "--last=0", at).out.splitlines()) == 5


def test_an_account_that_did_nothing_is_an_error_that_names_those_that_did(
    folder: Path, here: Here
) -> None:
    told = here("log", "trail", "--by=nobody", f"--data-dir={folder}").told()

    assert told == f"--by: nobody did nothing; there are {acting_operator(Settings())}"
