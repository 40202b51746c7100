"""``cs serve``: the whole service in one process."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cs import logs
from cs.admin.app import build as admin_app
from cs.cli.options import Config, DataDir, settings
from cs.cli.output import errors
from cs.sandbox.world import load
from cs.serving import listen, serving
from cs.settings import Settings
from cs.wiring import embedded, outside, sandboxed


def serve(
    world: Annotated[Path | None, Parameter(help="With --sandbox: a world file.")] = None,
    /,
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port of the API; 0: any free one.")] = None,
    admin_port: Annotated[
        int | None, Parameter(help="Port for health checks; 0: any free one.")
    ] = None,
    sandbox: Annotated[
        bool, Parameter(negative="", help="Talk to a made-up world on this machine.")
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Run the service: API, stages and views in one process, on SQLite.

    With --sandbox it talks to a small outside world on this machine (the bundled one, or
    the world file given) instead of the internet: brands, people and mail servers are made
    up, everything else is real. `cs sandbox list` shows what can be searched there.

    It needs a key to be called: `cs keys create --data-dir DIR`.
    SIGTERM and Ctrl-C answer the held calls and end it.
    """
    chosen = settings(config, host=host, port=port, admin_port=admin_port, data_dir=data_dir)
    logs.configure(chosen.log_level, chosen.log_format)
    if world is not None and not sandbox:
        raise SystemExit("cs serve: a world file goes with --sandbox")
    asyncio.run(run(chosen, sandbox=sandbox, world=world))


async def run(chosen: Settings, *, sandbox: bool, world: Path | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    async with AsyncExitStack() as stack:
        api_socket = stack.enter_context(listen(chosen.host, chosen.port))
        admin_socket = stack.enter_context(
            listen(chosen.admin_host, chosen.admin_port, option="--admin-port")
        )
        if sandbox:
            certificates = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="cs-sandbox-")
            )
            chosen = await stack.enter_async_context(
                sandboxed(chosen, load(world), Path(certificates))
            )
        tools = await stack.enter_async_context(outside(chosen))
        service = await stack.enter_async_context(
            embedded(chosen, tools, "sandbox" if sandbox else "live")
        )
        leaving = await stack.enter_async_context(
            serving(
                [(service.app, api_socket), (admin_app(service.health), admin_socket)],
                service.api.draining,
            )
        )
        base = "http://{}:{}".format(*api_socket.getsockname()[:2])
        admin = "http://{}:{}".format(*admin_socket.getsockname()[:2])
        errors.print(f"serving {base}/v1, health at {admin}/readyz, data in {chosen.data_dir}")
        await leaving.wait()
        errors.print(
            "leaving: held calls are answered, running searches go on at the next start"
        )
