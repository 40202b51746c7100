"""The address of an operator's own language model, as it may be written."""

import asyncio

import pytest

from cs.settings import BadSettings
from harness.every_row import check_every
from harness.outside import set_up

GOOD = (
    "http://127.0.0.1:8000/v1",
    "http://127.0.0.1:8000/v1/",
    "http://127.0.0.1:8000",
    "http://localhost:11434/v1",
    "http://[::1]:8000/v1",
    "https://llm.acme.example/openai/v1",
)
BASE = "opinion_url: the base address of an API like http://127.0.0.1:8000/v1, up to what "
BAD = (
    ("http://user:secret@127.0.0.1/v1", BASE),
    ("https://token@llm.acme.example/v1", BASE),
    ("https://llm.acme.example/v1?api-key=secret", BASE),
    ("https://llm.acme.example/v1?", BASE),
    ("https://llm.acme.example/v1#x", BASE),
    ("http://127.0.0.1:8000/v1/chat/completions", BASE),
    ("http://127.0.0.1:8000/v1/completions/", BASE),
    ("http://127.0.0.1:8000/v1/models", BASE),
    ("http://127.0.0.1:eighty/v1", BASE),
    ("http://127.0.0.1:0/v1", BASE),
    ("http://:8000/v1", BASE),
    ("http://[::1/v1", BASE),
    ("http://10.0.0.7:8000/v1", "10.0.0.7 in clear: make it https://"),
    ("http://llm.acme.example/v1", "insecure_opinion = true"),
    ("http://127.0.0.1.acme.example/v1", "insecure_opinion = true"),
)


def opened(url: str, *, insecure: bool = False) -> None:
    """Open what a service asks whose model is at *url*."""

    async def open_and_close() -> None:
        async with set_up(opinion_url=url, opinion_model="m", insecure_opinion=insecure):
            pass

    asyncio.run(open_and_close())


def test_addresses_that_can_be_asked() -> None:
    check_every(GOOD, opened)
    opened("http://10.0.0.7/v1", insecure=True)


def test_addresses_that_cannot_are_refused_with_what_to_do_and_no_secret() -> None:
    def refused(row: tuple[str, str]) -> None:
        url, told = row
        with pytest.raises(BadSettings) as caught:
            opened(url)
        assert "opinion_url: " in str(caught.value)
        assert told in str(caught.value)
        assert "secret" not in str(caught.value)
        assert "token" not in str(caught.value)

    check_every(BAD, refused)


@pytest.mark.parametrize("named", ["url", "model"])
async def test_a_second_opinion_needs_an_address_and_a_model(named: str) -> None:
    half = {f"CS_OPINION_{named.upper()}": "http://127.0.0.1:1/v1"}
    other = {"url": "model", "model": "url"}[named]
    with pytest.raises(BadSettings, match=f"^opinion_{other}: "):
        async with set_up(half):
            raise AssertionError
