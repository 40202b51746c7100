"""``--reveal WHY``: opening people, and noting who did and why before anything is shown."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.output import stop
from cs.domain.disclosure import DisclosedEvents, clean_reason
from cs.domain.refusal import Refusal

Reveal = Annotated[
    str | None,
    Parameter(
        help="Open people, and say why in a sentence: it is stored with your name before "
        "anything is shown. Name a ticket, not a person."
    ),
]


def check_reason(why: str | None) -> None:
    """End the command if *why* is no reason; without one nothing is opened."""
    if why is None:
        return
    try:
        clean_reason(why)
    except Refusal as refused:
        stop(f"--reveal: {refused}", 2)


async def disclose(
    data: CommandContext,
    command: str,
    why: str,
    asked: DisclosedEvents,
    *,
    upto: int | None,
    open_until: datetime | None = None,
    out: Path | None = None,
) -> None:
    """Store that *command* opens people; call it before it opens anybody.

    Args:
        data: What the command works with.
        command: Its words: ``events export``.
        why: What `check_reason` has accepted.
        asked: Whose data it opens.
        upto: As `cs.domain.disclosure.DisclosureMade` has it.
        open_until: The same.
        out: The file that it writes them to; ``None``: it prints them.
    """
    file = None if out is None else out.name
    await data.operator.disclose(
        command, why, asked, upto=upto, open_until=open_until, file=file
    )
