"""``cs master-key``: the key that wraps every data key, and its rotation."""

from cyclopts import App

from cs.assembly import master_key
from cs.cli.command import Invocation, Output, on_data
from cs.cli.progress import Progress

app = App(name="master-key", help="Change the master key while the service runs.")


@app.command
@on_data
async def rotate(at: Invocation) -> Output:
    """Wrap every data key with a new master key, next to a running service or without one.

    In a data folder it makes the new key itself, and puts it in the place of `master.key`
    when every key is wrapped; the old one stays next to it under its own name, for backups
    that were made before. A running service goes on and needs nothing.

    Over several processes: make a key, give it to every role and to this command as
    next_master_key_file, start the roles again one by one, and only then run this. When
    it is done, name the new key as master_key_file and remove next_master_key_file.

    If it is interrupted, nothing is lost: run it again.

    Example: `cs master-key rotate --data-dir /var/lib/cs`
    """
    with Progress() as line:
        done = await master_key.change(
            at.settings(), lambda done, every: line.show(f"{done} of {every} keys")
        )
    text = [f"{done.keys} keys wrapped; the master key is now {done.version}"]
    if done.kept is not None:
        text.append(f"the old one is {done.kept}: delete it when no backup of before is left")
    else:
        text.append(
            "set master_key_file to the new key everywhere and take next_master_key_file away;"
            " the old one can go when no backup of before is left"
        )
    return Output([done], text)


@app.command
@on_data
async def show(at: Invocation) -> Output:
    """Show the short name of the master key in use, which reveals nothing about the key.

    Example: `cs master-key show`
    """
    found = await master_key.versions(at.settings())
    older = (
        f"some keys are wrapped with {version} still: run `cs master-key rotate`"
        for version in found.older
    )
    return Output([found], [f"in use: {found.in_use}", *older])
