"""How a command ends that was ended by an error."""

import asyncio
import os
import sys

from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, leaf_errors, sentence
from cs.cli.output import stop


def end(error: BaseException) -> None:
    """End the process as *error* asks for, or return: it is none that a user can mend.

    Raises:
        SystemExit: 1 or 2 with a sentence on standard error, 130 after Ctrl-C; 1 in silence
            where nobody reads what is printed.
    """
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        raise SystemExit(130) from None
    cause = next(leaf_errors(error))
    if isinstance(cause, BrokenPipeError):
        # Whoever read our output has gone; what is still unwritten goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    if isinstance(cause, USER_ERRORS + USAGE_ERRORS):
        stop(sentence(cause), 2 if isinstance(cause, USAGE_ERRORS) else 1)
