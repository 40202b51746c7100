"""A made-up outside world on loopback: DNS, mail servers, web sites, Wikidata, SearXNG.

This module holds what a live service imports, too.
"""

from collections.abc import Mapping

#: The key that every played provider takes.
KEY = "sandbox"
#: By section of the settings: the adapters that ask the played providers, and the ends of
#: their base URLs.
ADAPTERS: Mapping[str, Mapping[str, str]] = {
    "sources": {"apollo": "", "brave": "", "hunter": "", "pdl": "", "serper": ""},
    "verifiers": {
        "hunter": "",
        "kickbox": "",
        "millionverifier": "",
        "neverbounce": "",
        "reacher": "/v1",
        "zerobounce": "",
    },
}


class WorldError(Exception):
    """The file is not a world; the message names the file and the place."""
