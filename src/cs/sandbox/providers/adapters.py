"""Which adapters of the service ask the played providers, and with which key."""

from collections.abc import Mapping

#: The key that every provider of a sandbox takes.
KEY = "sandbox"
#: By section of the settings: the adapters that ask them, and the ends of their base URLs.
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
