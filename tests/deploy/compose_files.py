"""The compose files as an engine reads them: interpolated, extended and merged."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cs.domain.stages.table import OWN_STAGES

FOLDER = Path(__file__).parents[2] / "deploy"
BASE = FOLDER / "compose.yaml"
THREE_BROKERS = FOLDER / "compose.three-brokers.yaml"
MONITORING = FOLDER / "compose.monitoring.yaml"

#: What `deploy/make-secrets` writes to `.env`.
ACCOUNT = {"AS_UID": "10001", "AS_GID": "10001"}
STAGES = tuple(OWN_STAGES)
ROLES = ("api", "relay", "process-manager", "project", *STAGES)
ONCE = ("migrate", "topics", "acls")
#: Users of Kafka by the service that has them.
USERS = {
    **{name: f"cs-{name}" for name in ("relay", "process-manager")},
    **{name: f"cs-stage-{name}" for name in STAGES},
    **dict.fromkeys(("topics", "acls"), "cs-topics"),
}

_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\})")


class NotSet(Exception):
    """A variable that must be set is not; the message is the file's own."""


def read(path: Path, variables: Mapping[str, str] = ACCOUNT) -> dict[str, Any]:
    """Return the file with its variables put in."""
    read: dict[str, Any] = _filled(yaml.safe_load(path.read_text()), variables)
    return read


def project(*overrides: Path, variables: Mapping[str, str] = ACCOUNT) -> dict[str, Any]:
    """Return compose.yaml with *overrides* merged into it, as far as ours need it.

    Mappings are merged, volumes by where they are mounted, networks by their names if the
    override's are a mapping; everything else is replaced.
    (The specification appends most lists: a test keeps them out of the overrides.)
    """
    whole = read(BASE, variables)
    for path in overrides:
        over = read(path, variables)
        for service in over["services"].values():
            extended = service.pop("extends", None)
            if extended:
                whole_one = read(path.parent / extended["file"], variables)
                service.update(merged(whole_one["services"][extended["service"]], service))
        whole = merged(whole, over)
    return whole


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """Put *variables* into *text*.

    Raises:
        NotSet: One that has to be is not.
    """

    def value(found: re.Match[str]) -> str:
        dollar, name, operator, word = found.groups()
        if dollar:
            return "$"
        if variables.get(name):
            return variables[name]
        if operator == ":?":
            raise NotSet(f"{name}: {word}")
        return word or ""

    return _VARIABLE.sub(value, text)


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    match value:
        case str():
            return interpolated(value, variables)
        case dict():
            return {key: _filled(each, variables) for key, each in value.items()}
        case list():
            return [_filled(each, variables) for each in value]
        case _:
            return value


def merged(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return *base* with *over* put into it, as `project` says."""
    whole = dict(base)
    for key, value in over.items():
        before = whole.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            whole[key] = merged(before, value)
        elif key == "volumes" and isinstance(before, list):
            mounted = {each.split(":")[1]: each for each in (*before, *value)}
            whole[key] = list(mounted.values())
        elif key == "networks" and isinstance(before, list):
            whole[key] = {**dict.fromkeys(before), **value}
        else:
            whole[key] = value
    return whole
