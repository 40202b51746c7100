"""Configuration: every setting, where it comes from, and what may stand in it."""

from cs.settings.loading import ENV_PREFIX, BadSettings, allowed, load, load_with_places
from cs.settings.settings import Settings

__all__ = [
    "ENV_PREFIX",
    "BadSettings",
    "Settings",
    "allowed",
    "load",
    "load_with_places",
]
