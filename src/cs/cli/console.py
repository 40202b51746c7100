"""``cs operators`` and ``cs console``: who may use the console, and its role."""

from typing import Annotated

from cyclopts import App, Parameter

from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import Table, stop, styled
from cs.cli.roles import ANY, RoleOptions, on_config, run_role
from cs.domain.console_operator import OperatorRole
from cs.operations.operator import operators

app = App(
    name="operators",
    help="Create, list and revoke operators of the console (docs/operations.md).\n\n"
    "A viewer sees, an operator acts as well, privacy opens and erases people as well.",
)

Name = Annotated[str, Parameter(help="A login or an e-mail address, as a proxy may send it.")]


@app.command
@on_data
async def create(
    at: Invocation,
    name: Name,
    /,
    *,
    role: Annotated[OperatorRole, Parameter(help="What it may do.")] = "viewer",
) -> Output:
    """Create an operator and show its token, this once; or give one a new token and role.

    The token that it had before ends at once, and the sessions that it began.

    Example: `cs operators create ada --role operator`
    """
    token = await (await at.data(new=True)).operator.create_operator(name, role)
    row = {"name": name.lower(), "role": role, "token": token}
    kept = "[bold]{}[/]\n[dim]Keep it now: it is not shown again.[/]"
    return Output([row], [f"{name.lower()}  {role}", styled(kept, token)])


@app.command(name="list")
@on_data
async def list_operators(at: Invocation) -> Output:
    """List every operator with its role; never a token.

    Example: `cs operators list --json`, one line an operator.
    """
    data = await at.data()
    rows = [
        {
            "name": name,
            "role": state.role or "revoked",
            "created_at": state.created_at,
            "changed_at": state.last_at,
        }
        for name, state in await operators(data.log, data.streams)
    ]
    return Output(rows, [Table.of(rows, "name role created_at changed_at")])


@app.command
@on_data
async def revoke(at: Invocation, name: Name, /) -> Output:
    """Revoke an operator: its token and its sessions end at once.

    Example: `cs operators revoke ada`
    """
    changed = await (await at.data()).operator.revoke_operator(name)
    if not changed:
        stop(f"{name} is no operator; `cs operators list` shows those there are")
    return Output([{"name": name.lower(), "changed": True}], [f"{name.lower()} is revoked"])


@on_config
def console(at: Invocation, *, role: RoleOptions = ANY) -> Output:
    """Show the console on the admin port: one role of a service of several processes.

    Any number may run. Needs the settings postgres, keys_postgres and master_key_file.
    `cs serve` has a console without it.

    Example: `cs console --admin-port 8095`
    """
    from cs.assembly.roles import run_console  # noqa: PLC0415

    return run_role(at, "console", role, run_console)
