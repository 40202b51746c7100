"""``cs pause`` and ``cs resume``: the whole API's switch."""

import asyncio

from cs.cli.keys import desk
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json
from cs.cli.settings_in_force import settings


def pause(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Refuse new searches with 503 `api_disabled`; reading and running searches go on.

    Works beside a running service, which sees it within a second.

    Example: `cs pause --data-dir /var/lib/cs`
    """

    async def run() -> bool:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.pause()

    _say("paused", changed=asyncio.run(run()), json=json)


def resume(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Take new searches again, after `cs pause`.

    Example: `cs resume --data-dir /var/lib/cs`
    """

    async def run() -> bool:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.resume()

    _say("resumed", changed=asyncio.run(run()), json=json)


def _say(state: str, *, changed: bool, json: bool) -> None:
    if json:
        print_json({"api": state, "changed": changed})
    else:
        console.print(f"the API is {state}" if changed else f"the API was {state} before")
