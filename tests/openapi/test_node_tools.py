"""Linters of Node find nothing in the description, and types that are made of it compile."""

from pathlib import Path

import pytest

from openapi.node_tools import DEV, DOCUMENT, Found, run_tool

pytestmark = pytest.mark.slow

LINTERS = {
    "spectral": ("lint", "--fail-severity=hint", "--ruleset", DEV / "node" / "spectral.yaml"),
    "redocly": ("lint", "--config", DEV / "node" / "redocly.yaml"),
}


@pytest.mark.parametrize("linter", LINTERS)
def test_the_description_is_clean(linter: str, tmp_path: Path) -> None:
    run_tool(linter, *LINTERS[linter], DOCUMENT, folder=tmp_path)


CALLER = """
import type { components, paths } from "./api";

type Search = components["schemas"]["Search"];
type Asked = paths["/contacts"]["post"]["requestBody"]["content"]["application/json"];
type Code = components["schemas"]["Error"]["error"]["code"];

export const asked: Asked = { brand: "Acme" };
export const code: Code = "too_many_in_flight";

export function told(search: Search): string {
  switch (search.status) {
    case "running":
      return `again in ${search.retry_after.toFixed(0)} s at ${search.poll_url}`;
    case "done":
      return search.contacts.map((each) => each.email ?? "none").join();
    case "failed":
      return search.reason;
  }
}
"""


def _compile(caller: str, folder: Path) -> None:
    run_tool(
        *("openapi-typescript", DOCUMENT, "--output", "api.ts", "--default-non-nullable=false"),
        folder=folder,
    )
    (folder / "caller.ts").write_text(caller)
    run_tool("tsc", "--strict", "--noEmit", "--skipLibCheck", "caller.ts", folder=folder)


def test_a_caller_of_the_types_compiles(tmp_path: Path) -> None:
    _compile(CALLER, tmp_path)


def test_a_caller_that_leaves_a_state_out_does_not_compile(tmp_path: Path) -> None:
    failed = '    case "failed":\n      return search.reason;\n'
    assert CALLER.count(failed) == 1

    with pytest.raises(Found, match="error TS"):
        _compile(CALLER.replace(failed, ""), tmp_path)
