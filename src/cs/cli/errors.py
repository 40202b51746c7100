"""How a command ends that an error ended: one sentence, no traceback, and the exit code."""

import asyncio
import errno
import os
import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from cs.assembly.folder_keys import OF_DAMAGE
from cs.bus.kafka.settings import BadKafkaSettings, CannotApply
from cs.bus.port import BusUnavailable
from cs.cli.output import stop
from cs.directory.store import DirectoryUnavailable
from cs.domain.names.brand_names import Unacceptable
from cs.domain.refusal import Refusal
from cs.domain.stages.table import BadExtraStage
from cs.eventlog.port import DamagedEvent, LogUnavailable
from cs.history.part_folder import ExportFailed, OtherExport
from cs.http_server.errors import CannotListen
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.operations.restored import LogBehind
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.runtime.coordination import leaf_errors
from cs.runtime.data_folder import DataFolderError
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.redaction import redacted
from cs.sandbox import WorldError
from cs.settings import BadSettings

#: Errors that a user can fix.
USER_ERRORS = (
    BadKafkaSettings,
    BusUnavailable,
    CannotApply,
    CannotListen,
    DatabaseUnavailable,
    DataFolderError,
    DeletedDataRemains,
    DirectoryUnavailable,
    ExportFailed,
    KeysUnavailable,
    LogBehind,
    LogUnavailable,
    Refusal,
    Unacceptable,
    WorldError,
    WrongMasterKey,
    WrongSchema,
)
#: Mistakes on the command line or in the settings.
USAGE_ERRORS = (BadExtraStage, BadSettings, CycloptsError, OtherExport)

#: Errors of writing to standard output.
_UNWRITTEN = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def first_cause(error: BaseException) -> BaseException:
    """Return the first error inside nested groups of them."""
    return next(leaf_errors(error)) if isinstance(error, BaseExceptionGroup) else error


def sentence(error: BaseException) -> str:
    """Return *error* as one sentence: what happened, and what to do."""
    match error:
        case DamagedEvent():
            return f"{error}: {OF_DAMAGE}"
        case CycloptsError():
            return str(error).strip().removesuffix(".")
        case _:
            return str(error)


def end(error: BaseException, words: Sequence[str]) -> None:
    """End the process because of *error*, or return if no user can fix it.

    Args:
        error: Raised by the command.
        words: Of the command line, whose secrets are not repeated.

    Raises:
        SystemExit: 1 or 2 with a sentence on standard error, 130 after Ctrl-C; 1 in silence
            where the reader of the output has gone.
    """
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        raise SystemExit(130) from None
    cause = first_cause(error)
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
