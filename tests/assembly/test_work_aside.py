"""Slow work of the console in a process of its own: how its result comes back."""

from pathlib import Path

import pytest

from cs.assembly.work_aside import do_aside
from cs.paid_calls.service import CheckedPlugin
from cs.plugins.new_package import PackageKind
from cs.runtime.slow_work import SlowWorkFailed
from cs.settings import load
from plugins.installed import Install, install, install_written

__all__ = ["install"]

pytestmark = pytest.mark.slow  # a process of its own


async def checked(folder: Path) -> list[CheckedPlugin]:
    environment = {
        "CS_VERIFIERS": "noisy",
        "CS_VERIFIERS__NOISY__URL": "http://127.0.0.1:9",  # where nothing answers
        "CS_VERIFIERS__NOISY__KEY": "played",
        "CS_DATA_DIR": str(folder / "data"),
    }
    settings = load(environment=environment)
    return list(await do_aside(settings, "live", "check", "verifiers"))


async def test_what_a_plug_in_writes_to_standard_output_is_no_part_of_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Install
) -> None:
    install_written(install, PackageKind.VERIFIER, "noisy")
    for module in (tmp_path / "site").rglob("*.py"):
        # As a library in C does, or a process that it starts: `print` is a line of the log.
        module.write_text(module.read_text() + '\nimport os\nos.write(1, b"noise")\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    assert [(each.name, each.kind) for each in await checked(tmp_path)] == [
        ("noisy", "verifier")
    ]


async def test_a_result_that_cannot_be_read_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Install
) -> None:
    install_written(install, PackageKind.VERIFIER, "noisy")
    (tmp_path / "site" / "sitecustomize.py").write_text('print("noise", flush=True)\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))

    with pytest.raises(SlowWorkFailed, match="its result cannot be read"):
        await checked(tmp_path)
