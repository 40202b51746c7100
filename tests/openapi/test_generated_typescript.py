"""Types made of the description compile, and tell the states of a search apart."""

from pathlib import Path

import pytest

from openapi.node_tools import DOCUMENT, Found, run_tool

pytestmark = pytest.mark.slow

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
