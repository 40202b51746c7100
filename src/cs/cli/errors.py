"""Which errors a user can mend, and how they are described: one sentence, no traceback."""

from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnusedCliTokensError,
    ValidationError,
)

from cs.assembly.folder_advice import OF_DAMAGE
from cs.bus.errors import BadKafkaSettings, BusUnavailable, CannotApply
from cs.domain.names.brand_names import Unacceptable
from cs.domain.refusal import Refusal
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.history.part_folder import ExportFailed, OtherExport
from cs.http_server.errors import CannotListen
from cs.keystore.errors import KeysUnavailable, WrongMasterKey
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.runtime.data_folder import DataFolderError
from cs.runtime.private_files import DeletedDataRemains
from cs.sandbox.errors import WorldError
from cs.settings import BadSettings, Settings, allowed

#: What a user can do something about.
USER_ERRORS = (
    BadKafkaSettings,
    BusUnavailable,
    CannotApply,
    CannotListen,
    DatabaseUnavailable,
    DataFolderError,
    DeletedDataRemains,
    ExportFailed,
    KeysUnavailable,
    LogUnavailable,
    Refusal,
    Unacceptable,
    WorldError,
    WrongMasterKey,
    WrongSchema,
)
#: What stands wrongly on the command line or in the settings.
USAGE_ERRORS = (BadSettings, CycloptsError, OtherExport)


#: What every option that is no setting and can be written wrongly takes.
NUMBER = "a whole number"


def _choices(hint: object) -> tuple[str, ...]:
    """Return the words that *hint*, a `Literal` or an option that may be left out, allows."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in _choices(part))


def _right(hint: object) -> str:
    names = _choices(hint)
    return f"one of {', '.join(names)}" if names else NUMBER


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside nested groups of them."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaf_errors(inner)
    else:
        yield error


def sentence(error: BaseException) -> str:
    """Return what to tell of *error*."""
    match error:
        case CoercionError(token=token, argument=argument) if token and argument:
            setting = argument.name.lstrip("-").replace("-", "_")
            known = setting in Settings.__struct_fields__
            right = allowed(setting) if known else _right(argument.hint)
            return f"{argument.name}: {right}, not {token.value!r}"
        case ValidationError(argument=argument, exception_message=why) if argument:
            return f"{argument.name}: {why}"
        case MissingArgumentError(argument=argument) if argument and _choices(argument.hint):
            return f"{argument.name} is missing: {_right(argument.hint)}"
        case UnusedCliTokensError(unused_tokens=unused) if unused:
            return f"one thing too many: {unused[0]!r}; --help shows what is allowed"
        case DamagedEvent():
            return f"{error}: {OF_DAMAGE}"
        case CycloptsError():
            return str(error)[:1].lower() + str(error)[1:].strip()
        case _:
            return str(error)
