"""An earlier search whose people can be shown no more, as their keys are lost, is no hit."""

from collections.abc import Callable

import pytest

from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.outside import tools


def of_answers(name: str) -> bool:
    return name.startswith("result:")


def of_everybody(name: str) -> bool:
    return bool(name)


def lose(keys: MemoryKeyStore, lost: Callable[[str], bool]) -> None:
    """As a store that came back from before those keys were made."""
    for name in [name for name in keys._keys if lost(name)]:
        del keys._keys[name]


@pytest.mark.parametrize("lost", [of_answers, of_everybody])
async def test_it_is_searched_live_and_charged_for_what_is_found(
    lost: Callable[[str], bool],
) -> None:
    keys = MemoryKeyStore()
    async with in_memory(tools(), keys=keys) as service:
        key = await service.new_key()
        first = (await service.search(key, brand="Acme")).json()
        lose(keys, lost)

        again = (await service.search(key, brand="Acme")).json()
        reused = (await service.search(key, brand="Acme")).json()

    assert first["contacts"]
    assert again["contacts"] == first["contacts"] == reused["contacts"]
    assert (again["cached"], again["charged"], again["usage"]["used"]) == (False, True, 2)
    assert (reused["cached"], reused["charged"], reused["usage"]["used"]) == (True, True, 3)


async def test_what_costs_nothing_is_reused_all_the_same() -> None:
    keys = MemoryKeyStore()
    async with in_memory(tools(), keys=keys) as service:
        key = await service.new_key()
        first = (await service.search(key, brand="Nobody Knows This")).json()
        lose(keys, of_everybody)

        again = (await service.search(key, brand="Nobody Knows This")).json()

    assert (first["status"], first["reason"]) == ("failed", "no_linkedin")
    assert (again["status"], again["cached"], again["charged"]) == ("failed", True, False)
