"""Finds the verifiers that are installed: entry points of the group ``cs.verifiers``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from cs.outside.port import Fetcher, Resolver
from cs.paid_calls.paid import EVERY_TIME, Paid
from cs.plugins.plugin_settings import masked
from cs.verifiers.port import Verifier
from cs.verifiers.smtp.mail_route import Guard

GROUP = "cs.verifiers"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a verifier's factory is given.

    Attributes:
        settings: This verifier's own, of those that it says it takes
            (`cs.plugins.declared_settings.takes`) the ones that are set.
        resolver: DNS.
        guard: Judges addresses that strangers name.
        fetcher: HTTP for base URLs that stand in the settings.
        now: The time, in UTC.
        monotonic: Seconds, for durations.
        paid: For every question that the provider charges for.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    resolver: Resolver
    guard: Guard
    fetcher: Fetcher | None = None
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    paid: Paid = EVERY_TIME


#: What an entry point names.  ``None``: not configured.
Factory = Callable[[Context], Verifier | None]


class UnknownVerifier(ValueError):
    """The settings name a verifier that is not installed."""

    def __init__(self, name: str, installed: Sequence[str]) -> None:
        super().__init__(f"no verifier {name!r}; installed are: {', '.join(installed) or '-'}")
        self.name = name


class BrokenVerifier(RuntimeError):
    """A verifier is installed and cannot be used."""

    def __init__(self, name: str, names: str, why: str) -> None:
        super().__init__(f"verifier {name!r} ({names}) cannot be used: {why}")
        self.name = name


def discover(
    context_of: Callable[[str], Context],
    *,
    enabled: Sequence[str] | None = None,
    installed: Sequence[EntryPoint] | None = None,
) -> tuple[Verifier, ...]:
    """Return the verifiers that are configured, cheapest first, then by name.

    Args:
        context_of: The context for the verifier of that name.
        enabled: Names to use; all that are installed if ``None``.
        installed: The entry points to choose from; those of `GROUP` if ``None``.

    Raises:
        UnknownVerifier: *enabled* names one that is not installed.
        BrokenVerifier: One fails to load or to start, or calls itself by another's name.
    """
    points = entry_points(group=GROUP) if installed is None else installed
    by_name = {point.name: point for point in points}
    names = sorted(by_name) if enabled is None else list(dict.fromkeys(enabled))
    for name in names:
        if name not in by_name:
            raise UnknownVerifier(name, sorted(by_name))
    made = [_made(by_name[name], context_of) for name in names]
    return tuple(sorted((v for v in made if v is not None), key=lambda v: (v.cost, v.name)))


def installed_names() -> Sequence[str]:
    """Return the names of the verifiers that are installed; none of them is made."""
    return sorted(point.name for point in entry_points(group=GROUP))


def _made(point: EntryPoint, context_of: Callable[[str], Context]) -> Verifier | None:
    context = context_of(point.name)
    try:
        factory: Factory = point.load()
        verifier = factory(context)
    except Exception as error:  # a plug-in is somebody else's code
        why = masked(f"{type(error).__name__}: {error}", context.settings)
        raise BrokenVerifier(point.name, point.value, why) from error
    if verifier is not None and verifier.name != point.name:
        why = f"it calls itself {verifier.name!r}"
        raise BrokenVerifier(point.name, point.value, why)
    return verifier
