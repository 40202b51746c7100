"""`make audit` refuses a licence that may not be shipped."""

import runpy
from pathlib import Path

AUDIT = runpy.run_path(str(Path(__file__).parents[2] / "dev" / "audit.py"))


def test_a_licence_that_may_not_be_shipped_is_a_fault_except_of_a_listed_tool() -> None:
    def fault(licence: str, name: str = "some", *, shipped: bool = True) -> str | None:
        package = {"name": name, "licence": licence, "marker": "", "shipped": shipped}
        found: str | None = AUDIT["fault"](package)
        return found

    for licence in ("MIT", "Apache-2.0 AND BSD-2-Clause", "GPL-2.0 OR MIT"):
        assert fault(licence) is None, licence
    for licence in ("GPL-3.0-only", "AGPL-3.0", "MIT AND GPL-2.0", "not said"):
        assert licence in (fault(licence) or "")
        assert licence in (fault(licence, shipped=False) or ""), "in a tool as well"
    assert AUDIT["TOOLS"]
    for name, licence in AUDIT["TOOLS"].items():
        assert fault(licence, name, shipped=False) is None
        assert "GPL" in (fault(licence, name) or "")
