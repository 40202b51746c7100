"""Folded states that outlive the process, so that no start reads the whole life of a key.

A snapshot is a place to begin folding, nothing more: what came after it is always read,
and one that is in doubt is thrown away, because the log knows everything in it.

Two versions of the service may work on one log, each with a shape of its own: each has its
own newest snapshot of a stream, and leaves the other's alone.
"""

import ast
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.abc import InspectLoader
from typing import Any, NamedTuple, Protocol, cast

import msgspec
from structlog import get_logger

log = get_logger()

#: Events of a stream between two snapshots: what a cold start folds at most, about 10 ms.
EVERY = 500


class Snapshot(msgspec.Struct, frozen=True):
    """The state of one stream at one version.

    Attributes:
        version: Of the last event that is folded into it.
        shape: Of the state, and of what folded it (`Shape`).
        state: The state as JSON.
    """

    stream: str
    version: int
    shape: str
    state: bytes


class Snapshots(Protocol):
    async def find(self, stream: str, shape: str) -> Snapshot | None:
        """Return the newest snapshot of *stream* in *shape*, if there is one to be had."""

    def submit(self, snapshot: Snapshot) -> None:
        """Keep *snapshot* soon, or not at all: never waits and never fails.

        It takes the place of older ones of its shape.  Of other shapes the newest one of the
        stream stays, and no more.
        """


class NoSnapshots:
    """Every start folds every stream from its first event."""

    async def find(self, stream: str, shape: str) -> Snapshot | None:
        del stream, shape
        return None

    def submit(self, snapshot: Snapshot) -> None:
        del snapshot


class Shape:
    """How states of one category become snapshots and come back.

    Its fingerprint covers the fields of the state, nested ones too, and the code of the
    module that folds: a snapshot made by other rules would carry their result on for ever.
    Comments and layout are not in it.
    """

    def __init__(
        self, state: type[msgspec.Struct], evolve: Callable[[Any, Any], msgspec.Struct]
    ) -> None:
        self._decoder = msgspec.json.Decoder(state)
        self.fingerprint = _fingerprint(state, evolve)

    def snapshot(self, stream: str, version: int, state: msgspec.Struct) -> Snapshot:
        return Snapshot(stream, version, self.fingerprint, msgspec.json.encode(state))

    def state(self, snapshot: Snapshot) -> Any:
        """Return the state in *snapshot*; ``None`` if it is of another shape or damaged."""
        if snapshot.shape != self.fingerprint:
            return None
        try:
            return self._decoder.decode(snapshot.state)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            log.warning("snapshot_damaged", stream=snapshot.stream, why=type(error).__name__)
            return None


def _fingerprint(state: type[msgspec.Struct], evolve: Callable[..., Any]) -> str:
    try:
        folding = "".join(_rules(evolve.__module__))
    except OSError:  # installed without source: nobody can tell whether the rules changed
        folding = os.urandom(16).hex()
    fields = msgspec.json.encode(msgspec.json.schema(state), order="deterministic")
    return hashlib.sha256(fields + folding.encode()).hexdigest()[:32]


class _Source(NamedTuple):
    """The source of a module; its syntax tree would take eight times the memory.

    Attributes:
        code: Its syntax tree as text.
        imported: Names of all that it imports, which may be modules.
    """

    code: str
    imported: tuple[str, ...]


def _rules(module: str) -> Iterator[str]:
    """Yield the code of *module* and of all it imports from the domain, by name.

    The domain is the package below `cs` that *module* is in, with all packages in it.
    """
    package = ".".join(module.split(".")[:2]) + "."
    sources: dict[str, _Source] = {}
    left = [module]
    while left:
        name = left.pop()
        if name not in sources:
            sources[name] = _source(name)
            left += [
                found
                for found in sources[name].imported
                if found.startswith(package) and found in sys.modules
            ]
    for name in sorted(sources):
        yield sources[name].code


@cache
def _source(module: str) -> _Source:
    loader = cast(InspectLoader, sys.modules[module].__loader__)
    source = loader.get_source(module)  # "" of a package with an empty __init__.py
    if source is None:
        raise OSError(f"{module} is installed without its source")
    tree = ast.parse(source)
    return _Source(ast.dump(tree), tuple(_imported(tree)))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the names of all that *tree* imports, which may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))
