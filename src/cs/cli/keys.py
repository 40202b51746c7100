"""``cs keys``: API keys, on the data folder, next to a running service or without one."""

from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from cs.cli.command import Invocation, Output, number, on_data
from cs.cli.output import Table, facts, stop, styled
from cs.domain.operator_actions import OperatorAct
from cs.operations.operator import DEFAULT_QUOTA, NewSecret
from cs.projections.searches import instant
from cs.projections.usage import UsageRow

app = App(
    name="keys",
    help="Create, list, rotate and revoke API keys, and give them quota.\n\n"
    "Works on the data folder or the databases, next to a running service or without one; "
    "a running service sees the change within a second.",
)

#: Searches that one command may add or take away.
MOST = 1_000_000_000

KeyId = Annotated[str, Parameter(help="Id of the key, key_...; see `cs keys list`.")]


@app.command
@on_data
async def create(
    at: Invocation,
    *,
    label: Annotated[str, Parameter(help="Whose key it is, for you.")] = "",
    quota: Annotated[
        int, number(0, MOST, "Searches that it may be charged for.")
    ] = DEFAULT_QUOTA,
) -> Output:
    """Create a key and show its secret, this once: only a hash of it is kept.

    Makes the data folder if there is none yet, so it works before the first `cs serve`.

    Example: `cs keys create --label "Sales, Berlin" --quota 500`
    """
    if len(label) > 200:
        stop("--label: at most 200 characters", 2)
    new = await (await at.data(new=True)).operator.create_key(label, quota)
    row = {"id": new.id, "key": new.key, "label": label, "quota": quota}
    return Output([row], [f"{new.id}  {label}  quota {quota}", _secret(new)])


@app.command(name="list")
@on_data
async def list_keys(at: Invocation) -> Output:
    """List every key with its quota and use, never a secret.

    Example: `cs keys list --json`, one line a key.
    """
    reading = await (await at.data()).reading()
    found = sorted(await reading.keys(), key=lambda entry: entry[1].issued_at)
    shown = [_shown(key_id, row) for key_id, row in found]
    return Output(
        shown, [Table.of(shown, "id label last4 quota used running revoked", "label")]
    )


@app.command
@on_data
async def show(at: Invocation, key_id: KeyId, /) -> Output:
    """Show one key: its quota, use and running searches, and every change by an operator.

    Example: `cs keys show key_ma7677g7zxmrnqf8`
    """
    row = await (await (await at.data()).reading()).usage(key_id)
    if row is None:
        stop(f"no key with the id {key_id!r}; `cs keys list` shows them all")
    shown = _shown(key_id, row)
    known = {name: value for name, value in shown.items() if name != "history"}
    acts = [f"{instant(act.at)}  {act_words(act)}  by {act.by or '?'}" for act in row.acts]
    return Output([shown], [*facts(known), *acts])


@app.command
@on_data
async def rotate(at: Invocation, key_id: KeyId, /) -> Output:
    """Give a key a new secret; the old one stops working, quota and history stay.

    Example: `cs keys rotate key_ma7677g7zxmrnqf8`
    """
    new = await (await at.data()).operator.rotate_key(key_id)
    return Output([{"id": new.id, "key": new.key}], [new.id, _secret(new)])


@app.command
@on_data
async def revoke(at: Invocation, key_id: KeyId, /) -> Output:
    """Revoke a key for good. Its running searches still end and are settled.

    Example: `cs keys revoke key_ma7677g7zxmrnqf8`
    """
    changed = await (await at.data()).operator.revoke_key(key_id)
    return Output(
        [{"id": key_id, "revoked": True, "changed": changed}],
        [f"{key_id} {'is revoked' if changed else 'was revoked before'}"],
    )


@app.command
@on_data
async def grant(
    at: Invocation,
    key_id: KeyId,
    units: Annotated[
        int, number(-MOST, MOST, "Searches to add; a negative number takes away.")
    ],
    /,
) -> Output:
    """Add to a key's quota, or take away from it; it counts at once.

    Example: `cs keys grant key_ma7677g7zxmrnqf8 100`
    """
    key = await (await at.data()).operator.grant_quota(key_id, units)
    row = {"id": key_id, "quota": key.quota, "used": key.used}
    return Output(
        [row | {"remaining": key.quota - key.used}],
        [f"{key_id} may now make {key.quota} searches, {key.used} are used"],
    )


def act_words(act: OperatorAct) -> str:
    """Return the act in words: ``quota granted: 50``."""
    words = act.what.replace("_", " ")
    if act.why is not None:
        return f"{words} ({act.command}): {act.why}"
    return words if act.units is None else f"{words}: {act.units}"


def _secret(new: NewSecret) -> Text:
    return styled("[bold]{}[/]\n[dim]Keep it now: it is not shown again.[/]", new.key)


def _shown(key_id: str, row: UsageRow) -> dict[str, Any]:
    return {
        "id": key_id,
        "label": row.label,
        "last4": row.last4,
        "quota": row.quota,
        "used": row.used,
        "remaining": row.quota - row.used,
        "running": row.reserved,
        "searches": row.searches,
        "issued_at": instant(row.issued_at),
        "revoked": row.revoked,
        "history": row.acts,
    }
