from collections.abc import AsyncIterator

import pytest

from verifiers.smtp.mail_world import World, mail_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with mail_world() as made:
        yield made
