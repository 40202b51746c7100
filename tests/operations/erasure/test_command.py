"""``cs people`` as it is typed."""

from pathlib import Path

import pytest

from cli.command import ran

pytestmark = pytest.mark.slow

WHO = "jane.doe@example.com"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name the person by --email or by --profile, one of the two"),
        (
            ["--email", WHO, "--profile", "https://www.linkedin.com/in/jane-doe"],
            "name the person by --email or by --profile, one of the two",
        ),
        (["--email", "jane.doe"], "--email: one address, jane@example.com"),
        (
            ["--profile", "https://www.linkedin.com/company/acme"],
            "--profile: a LinkedIn profile, https://www.linkedin.com/in/…",
        ),
    ],
    ids=["nobody", "both", "no address", "no profile"],
)
def test_who_is_named_wrongly_is_told(tmp_path: Path, words: list[str], told: str) -> None:
    assert ran("people", "erase", *words, f"--data-dir={tmp_path}").told(2) == told


def test_neither_the_address_nor_the_profile_is_printed(tmp_path: Path) -> None:
    folder = f"--data-dir={tmp_path}"
    assert ran("keys", "create", folder).code == 0

    for who in (["--email", WHO], ["--profile", "https://www.linkedin.com/in/jane-doe"]):
        for form in ([], ["--json"], []):
            erased = ran("people", "erase", *who, *form, folder, CS_LOG_LEVEL="debug")
            assert erased.code == 0
            assert "jane" not in erased.out + erased.err
            assert erased.out
    assert ran("people", "reapply", folder).out == "2 erased again\n"
    assert ran("people", "reapply", "--json", folder).rows == [{"people": 2}]
