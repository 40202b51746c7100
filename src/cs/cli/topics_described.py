"""``cs topics describe``: what is on the topics, for who speaks or reads them."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.bus.asyncapi.changes import broken
from cs.bus.asyncapi.document import read_document, summary
from cs.cli.options import Json
from cs.cli.output import console, print_json, print_table, stop


def describe_topics(
    *,
    since: Annotated[
        Path | None, Parameter(help="Name what would break for users of this older document.")
    ] = None,
    json: Json = False,
) -> None:
    """Describe what is on the topics, for other teams and for stages in other languages.

    With `--json` as an AsyncAPI 3.0 document: shapes, headers, keys, examples. With
    `--since` ends with 1 if something would break.

    Example: `cs topics describe --json > topics.json`, and after an update `cs topics
    describe --since topics.json`
    """
    if since is not None:
        _compare(since, json=json)
    elif json:
        print_json(msgspec.json.decode(read_document()))
    else:
        columns = ("Topic", "Direction", "Retention", "What, and by which key")
        rows = [
            (
                each.topic,
                "to the service" if each.received else "from the service",
                _said(each.retention),
                each.carries,
            )
            for each in summary()
        ]
        print_table(columns, rows, folds=["What, and by which key"])


def _compare(since: Path, *, json: bool) -> None:
    new = msgspec.json.decode(read_document())
    try:
        found = broken(msgspec.json.decode(since.read_bytes()), new)
    except OSError as error:
        stop(f"--since: {since} cannot be read: {error.strerror}", 2)
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, AttributeError, TypeError):
        stop(f"--since: {since} is no document of `cs topics describe --json`", 2)
    for each in found:
        if json:
            print_json(each._asdict())
        else:
            console.print(str(each))
    if found:
        raise SystemExit(1)


def _said(duration: timedelta) -> str:
    hours = duration // timedelta(hours=1)
    return f"{hours // 24} days" if hours >= 48 else f"{hours} h"
