"""`make profile`: where a benchmark's processor time went."""

import importlib.util
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "dev" / "flame_graph.py"
#: Burns time in a function, and in a process of its own that does the same.
BUSY = """
import subprocess, sys, time

def burn():
    until = time.process_time() + 0.1
    while time.process_time() < until:
        sum(range(100))

burn()
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "alone"], check=True)
"""


@pytest.fixture(scope="module")
def flame_graph() -> ModuleType:
    spec = importlib.util.spec_from_file_location("flame_graph", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_what_burns_time_is_wide_in_every_process(
    flame_graph: ModuleType, tmp_path: Path
) -> None:
    script = tmp_path / "busy.py"
    script.write_text(BUSY)

    ended, processes = flame_graph.profiled([sys.executable, str(script)], tmp_path)
    svg = flame_graph.drawn("busy", processes)

    assert ended == 0
    assert len(processes) == 2
    titles = [each.text or "" for each in ET.fromstring(svg).iter() if "title" in each.tag]
    assert sum("__main__.burn" in title for title in titles) == 2
    for process in processes:
        in_burn = process.calls["__main__.<module>"].calls["__main__.burn"]
        assert in_burn.samples > process.samples / 2


def test_names_are_written_as_xml(flame_graph: ModuleType) -> None:
    process = flame_graph.Node("process 1")
    process.add(("a.<lambda>",), 3)

    assert ET.fromstring(flame_graph.drawn("a & b", [process])) is not None


def test_an_unknown_bench_is_told_with_those_that_there_are(
    flame_graph: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["flame_graph.py", "nothing"])

    assert flame_graph.main() == 2
    assert "thin_path" in capsys.readouterr().out
