"""The one way to run a command: read its options, open what it needs, print what it returns.

A command is a function of an `Invocation` and of its own words and options.  It returns an
`Output`, awaited if need be, or yields several that are printed as they come.  The options
that many commands share are declared here, once.
"""

import asyncio
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    ParamSpec,
    TypeVar,
    get_type_hints,
)

import msgspec
from cyclopts import Parameter, validators
from rich.text import Text

from cs.cli.output import Table, as_csv, print_bytes, print_json, print_parts, stop

if TYPE_CHECKING:  # a command that needs no data starts sooner without
    from cs.assembly.operator_command import CommandContext
    from cs.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

Config = Annotated[Path | None, Parameter(help="Settings file (TOML); else CS_CONFIG's.")]
DataDir = Annotated[Path | None, Parameter(help="Folder of the service's data.")]
Json = Annotated[bool, Parameter(name="--json", help="Print JSON.")]
Csv = Annotated[bool, Parameter(name="--csv", help="Print CSV.")]


def check_folder(_: object, file: Path | None) -> None:
    """Refuse a *file* to write in a folder that does not exist, before anything is read."""
    if file is not None and not file.parent.is_dir():
        raise ValueError(f"{file} cannot be written: there is no folder {file.parent}")


NewFile = Annotated[
    Path | None,
    Parameter(validator=(validators.Path(file_okay=False, dir_okay=False), check_folder)),
]
DryRun = Annotated[bool, Parameter(help="Only say what would change; write nothing.")]


def number(least: int, most: int, help_line: str) -> Parameter:
    return Parameter(help=help_line, validator=validators.Number(gte=least, lte=most))


@Parameter(name="*")
@dataclass(frozen=True)
class Server:
    """The options of a command that calls a server."""

    patience: Annotated[
        int, number(0, 10**9, "Longest wait for a limit or an unwell server, in s.")
    ] = 65
    key: Annotated[
        str, Parameter(env_var="CS_API_KEY", help="API key (CS_API_KEY).", show_default=False)
    ] = ""
    url: Annotated[
        str, Parameter(env_var="CS_URL", help="Base address, with the version (CS_URL).")
    ] = "http://127.0.0.1:8080/v1"


#: The types of `--json`, `--csv`, `--data-dir` and `--config`.
_SHARED = {"json": Json, "csv": Csv, "data_dir": DataDir, "config": Config}


class Output(msgspec.Struct, frozen=True):
    """The output and the end of a command.

    Attributes:
        rows: With ``--json``, one line each.
        text: Otherwise: lines of our own, styled text and tables, one after the other.
        csv: With ``--csv``.
        problem: A sentence for standard error, after the rest; the exit code is then 1.
        code: The exit code otherwise; of several outputs the highest counts.
    """

    rows: Sequence[Any] = ()
    text: Iterable[str | Text | Table] = ()
    csv: Sequence[Sequence[str]] = ()
    problem: str | None = None
    code: int = 0


class Invocation:
    """One call of a command: its shared options, and the resources it has opened."""

    def __init__(
        self,
        *,
        json: bool = False,
        csv: bool = False,
        data_dir: Path | None = None,
        config: Path | None = None,
    ) -> None:
        self.json = json
        self.csv = csv
        self.data_dir = data_dir
        self.config = config
        self._open = AsyncExitStack()

    def settings(self, **given: Any) -> "Settings":
        """Return the settings in force: of the file, the environment, the options *given*.

        Raises:
            BadSettings: One of them is wrong.
        """
        from cs import settings  # noqa: PLC0415  few callers of a service have any

        return settings.load(self.config, given={"data_dir": self.data_dir, **given})

    async def opened(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter *manager* and return its value; it is left when the command ends."""
        return await self._open.enter_async_context(manager)

    def entered(self, manager: AbstractContextManager[T]) -> T:
        """Enter *manager* and return its value, as `opened` does."""
        return self._open.enter_context(manager)

    async def data(self, *, new: bool = False) -> "CommandContext":
        """Open the service's data; a folder without any is made if *new* is set."""
        from cs.assembly.operator_command import open_command_context  # noqa: PLC0415

        return await self.opened(open_command_context(self.settings(), new=new))

    def run(self, result: "Result") -> None:
        """Print *result*, of which this is the invocation, and end as it says.

        Raises:
            SystemExit: It has a problem or an exit code.
        """
        if isinstance(result, Output):
            self._print(result)
            last = result
        else:
            last = asyncio.run(self._run(result))
        if last.problem is not None:
            stop(last.problem, last.code or 1)
        if last.code:
            raise SystemExit(last.code)

    async def _run(self, result: "Awaitable[Output] | AsyncIterator[Output]") -> Output:
        last, code = Output(), 0
        if isinstance(result, AsyncIterator):
            async with self._open:
                async for last in result:
                    try:
                        self._print(last)
                    except (
                        OSError
                    ) as error:  # raised in the command, which closes all it opened
                        assert isinstance(result, AsyncGenerator), "it yields"
                        await result.athrow(error)
                    code = max(code, last.code)
            last = msgspec.structs.replace(last, code=code)
        else:
            async with self._open:
                last = await result
            self._print(last)  # what took a lock has let go of it
        return last

    def _print(self, output: Output) -> None:
        if self.json:
            for row in output.rows:
                print_json(row)
        elif self.csv and output.csv:
            print_bytes(as_csv(output.csv))
        else:
            print_parts(output.text)


Result = Output | Awaitable[Output] | AsyncIterator[Output]


def command(
    *shared: str,
) -> Callable[[Callable[Concatenate[Invocation, P], Result]], Callable[P, None]]:
    """Return a decorator that makes a command with the options *shared* and its own."""

    def decorate(body: Callable[Concatenate[Invocation, P], Result]) -> Callable[P, None]:
        own = list(inspect.signature(body).parameters.values())[1:]
        given = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if name in {"json", "csv"} else None,
                annotation=_SHARED[name],
            )
            for name in shared
        ]

        def run(*words: P.args, **options: P.kwargs) -> None:
            chosen: dict[str, Any] = {n: options.pop(n) for n in shared if n in options}
            if chosen.get("json") and chosen.get("csv"):
                stop("--json or --csv, not both", 2)
            invocation = Invocation(**chosen)
            invocation.run(body(invocation, *words, **options))

        hints = get_type_hints(body, include_extras=True)
        run.__annotations__ = {
            **{each.name: hints[each.name] for each in own},
            **{name: _SHARED[name] for name in shared},
        }
        run.__signature__ = inspect.Signature([*own, *given])  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = body.__name__, body.__doc__, body.__module__
        return run

    return decorate


#: A command on the service's data; on its settings; on neither.
on_data = command("json", "data_dir", "config")
on_settings = command("json", "config")
printing = command("json")
