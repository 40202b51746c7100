"""What came of a storm over a cluster, and whether that is good."""

from collections.abc import Mapping, Sequence

import msgspec

from system.cluster.storm_checks import Stored
from system.faults.results import ClientResults


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the cluster."""

    kills: Mapping[str, int]  # by kind of role
    at_start: int
    points: Mapping[str, int]  # fail points at which a role died
    missing: Sequence[str]  # those at which none did, and one was meant to
    servers: Sequence[str]
    fell: Sequence[str]  # roles that ended by themselves
    bugs: Sequence[str]  # what roles told of as their own fault
    seconds: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    damage: Damage
    clients: ClientResults
    stored: Stored
    paid: int
    paid_twice: Sequence[str]

    @property
    def faults(self) -> list[str]:
        """Return every promise that was broken; empty if all were kept."""
        stored = self.stored
        found = [*self.clients.faults, *(f"log: {line}" for line in stored.log)]
        found += [f"view: {line}" for line in stored.views]
        found += [f"paid twice: {question}" for question in self.paid_twice]
        if not self.paid:
            found.append("nobody was asked for money: nothing was proven")
        found += [f"bug: {line}" for line in self.damage.bugs]
        found += [f"nobody died at {point}" for point in self.damage.missing]
        if stored.unfinished:
            found.append(f"{stored.unfinished} searches are not settled")
        return found
