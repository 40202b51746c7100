"""The blocking client is what is made of the one for asyncio."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "dev" / "blocking_client.py"


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("blocking_client", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_in_the_repository_is_what_is_generated() -> None:
    checked = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_file_that_was_changed_by_hand_fails_the_check(
    generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "blocking.py"
    changed.write_text(generator.TARGET.read_text() + "\n# changed\n")
    monkeypatch.setattr(generator, "TARGET", changed)
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["blocking_client.py", "--check"])

    with pytest.raises(SystemExit, match=r"blocking\.py is not made from asyncio_client\.py"):
        generator.main()


def test_a_sentence_that_is_no_longer_there_is_missed(generator: ModuleType) -> None:
    with pytest.raises(ValueError, match="has no"):
        generator.blocking("x = 1\n")


def test_code_is_made_blocking_and_words_in_strings_stay(generator: ModuleType) -> None:
    made = generator._without_await(
        "async def f(client: 'AsyncClient') -> str:\n"
        "    async with aclosing(client):\n"
        "        await client.aclose()\n"
        "        return 'async and await stay'\n"
    )

    assert made == (
        "def f(client: 'Client') -> str:\n"
        "    with closing(client):\n"
        "        client.close()\n"
        "        return 'async and await stay'\n"
    )
