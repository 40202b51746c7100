"""The bus of one process, as the contract of buses takes it."""

from contracts.bus import OTHER, TOPIC
from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS


def memory_bus(waiting: int | None = None) -> MemoryBus:
    """Return a bus on which the groups "a" and "b" know every topic of the contract."""
    topics = (TOPIC, OTHER, DEAD_LETTERS)
    return MemoryBus(((topic, group) for topic in topics for group in "ab"), waiting=waiting)
