"""``cs people`` as it is typed."""

from pathlib import Path

import pytest

from cli.command import ran

pytestmark = pytest.mark.slow

WHO = "jane.doe@example.com"


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
