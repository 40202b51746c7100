"""``cs master-key``: the key that wraps everybody's data keys, and how it is changed."""

import asyncio
import sys

from cyclopts import App

from cs.assembly import master_key as new_master_key
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, errors, print_json
from cs.cli.settings_in_force import settings

app = App(name="master-key", help="Change the master key while the service runs.")


@app.command
def rotate(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Wrap every data key with a new master key, beside a running service or without one.

    In a data folder it makes the new key itself, and puts it in the place of `master.key`
    when every key is wrapped; the old one stays beside it under its name, for backups
    that were made before. A running service goes on and needs nothing.

    Over several processes: make a key, give it to every role and to this command as
    next_master_key_file, start the roles again one by one, and only then run this. When
    it is done, name the new key as master_key_file and next_master_key_file no more.

    Interrupted anywhere, nothing is lost: run it again.

    Example: `cs master-key rotate --data-dir /var/lib/cs`
    """
    chosen = settings(config, data_dir=data_dir)

    def show_progress(done: int, every: int) -> None:
        if not json and (sys.stderr.isatty() or done == every):
            errors.print(f"{done} of {every} keys")

    done = asyncio.run(new_master_key.change(chosen, show_progress))
    if json:
        print_json(done)
        return
    console.print(f"{done.keys} keys wrapped anew; the master key is now {done.version}")
    if done.kept is not None:
        console.print(f"the old one is {done.kept}: delete it when no backup of before is left")
    else:
        console.print(
            "set master_key_file to the new key everywhere and take next_master_key_file away;"
            " the old one can go when no backup of before is left"
        )


@app.command
def show(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Say which master key is in use, by a short name that tells nothing about it.

    Example: `cs master-key show`
    """
    found = asyncio.run(new_master_key.versions(settings(config, data_dir=data_dir)))
    if json:
        print_json(found)
        return
    console.print(f"in use: {found.in_use}")
    for version in found.older:
        console.print(f"some keys are wrapped with {version} still: run `cs master-key rotate`")
