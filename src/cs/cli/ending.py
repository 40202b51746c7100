"""How a command ends that was ended by an error."""

import asyncio
import errno
import os
import sys
from collections.abc import Sequence

from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, leaf_errors, sentence
from cs.cli.output import stop
from cs.runtime.redaction import redacted

#: Errors of writing to standard output.
_UNWRITTEN = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def end(error: BaseException, words: Sequence[str]) -> None:
    """End the process because of *error*, or return if no user can fix it.

    Args:
        error: Raised by the command.
        words: Of the command line, whose secrets are not repeated.

    Raises:
        SystemExit: 1 or 2 with a sentence on standard error, 130 after Ctrl-C; 1 in silence
            where nobody reads what is printed.
    """
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        raise SystemExit(130) from None
    cause = next(leaf_errors(error))
    if isinstance(cause, OSError) and cause.errno in _UNWRITTEN:
        # What is still unwritten goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(cause, BrokenPipeError):  # the reader of the output has gone
            raise SystemExit(1) from None
        stop(f"the output cannot be written: {cause.strerror}")
    if isinstance(cause, USER_ERRORS + USAGE_ERRORS):
        said = sentence(cause)
        for word in words:
            said = said.replace(word, redacted(word))
        stop(said, 2 if isinstance(cause, USAGE_ERRORS) else 1)
