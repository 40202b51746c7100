"""Hides passwords and keys in settings, addresses and messages before they are shown.

`redacted` parses a value: addresses (RFC 3986), libpq's ``keyword = 'value'`` strings
(PostgreSQL's manual, section "Connection Strings"), lists and tables of these.  A value that
can be read in several ways, such as a password with a raw ``/`` or ``@``, loses the secret of
every reading.  `without_secrets` removes secrets that are already known from free text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import quote, unquote_plus

MASK = "********"
#: A name that ends in one of these, whatever its case and punctuation, has a secret value.
SECRET_ENDS = (
    *("key", "token", "password", "passwd", "passphrase", "pass", "pwd"),
    *("secret", "credential", "signature", "sig", "auth", "authorization"),
)
#: Shorter parts of addresses are not looked for in free text: they occur in ordinary words.
SHORTEST = 4

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: ``user:password@host`` without a scheme.
_BARE_USER = re.compile(r"(?!mailto:)[^\s:@]+:([^\s].*)@", re.DOTALL | re.IGNORECASE)
#: The start of a parameter of a query, or of a keyword of a libpq string.
_NAME = re.compile(r"(?:^|[?&;#]|(?<!\\)\s)\s*([^=&?;#\s]+)\s*=\s*")
#: What ends a value: the next parameter, or the next keyword.
_NEXT_PARAMETER = re.compile(r"&[^=&]+=")
_NEXT_KEYWORD = re.compile(r"\s+[^=\s]+\s*=")
_KEYWORD_VALUE = re.compile(r"'(?:[^'\\]|\\.)*(?:'|$)|(?:[^\s\\]|\\.)*", re.DOTALL)


def is_secret_name(name: str) -> bool:
    """Return whether values called *name* are secrets.

    >>> is_secret_name("pass%77ord"), is_secret_name("X-Api-Key"), is_secret_name("sslmode")
    (True, True, False)
    """
    for _ in range(3):  # names that are encoded twice, too
        name = unquote_plus(name)
    plain = re.sub(r"[^a-z0-9]", "", name.casefold())
    return plain.removesuffix("s").endswith(SECRET_ENDS) or plain.endswith(SECRET_ENDS)


def redacted(value: Any) -> Any:
    """Return *value*, of a setting or an argument, as it may be shown.

    >>> redacted("postgresql://cs:hunt/er2@db/cs?sslmode=require")
    'postgresql://cs:********@db/cs?sslmode=require'
    >>> redacted(["https://token@a.test/?api_key=x&page=2", "host=db password = 'x y' port=1"])
    ['https://********@a.test/?api_key=********&page=2', 'host=db password = ******** port=1']
    """
    if isinstance(value, str):
        return _masked(value)
    if isinstance(value, Mapping):
        return {
            name: MASK if is_secret_name(str(name)) and inner is not None else redacted(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple | AbstractSet):
        return [redacted(inner) for inner in value]
    return value


def secrets_in(value: Any) -> Iterator[str]:
    """Yield the secrets that `redacted` hides in *value*, also decoded, not the shortest."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from all_texts(inner) if is_secret_name(str(name)) else secrets_in(inner)
    elif isinstance(value, list | tuple | AbstractSet):
        for inner in value:
            yield from secrets_in(inner)
    elif isinstance(value, str):
        for start, end in _spans(value):
            for secret in (value[start:end], unquote_plus(value[start:end])):
                if len(secret) >= SHORTEST:
                    yield secret


def all_texts(value: Any) -> Iterator[str]:
    """Yield every part of *value* as text: what a secret setting holds."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | AbstractSet):
        for inner in value:
            yield from all_texts(inner)
    elif value is not None and str(value):
        yield str(value)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return *text* without *secrets*, nor as code, JSON or addresses write them.

    >>> without_secrets("a b'c, a%20b%27c", ["a b'c"])
    '********, ********'
    """
    forms: set[str] = set()
    for each in secrets:
        forms |= {each, quote(each, safe="")}
        forms |= {written(each)[1:-1] for written in (repr, ascii, json.dumps)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _masked(text: str) -> str:
    shown, at = [], 0
    for start, end in sorted(_spans(text)):
        if end > at:
            shown += [text[at:start], MASK] if start >= at else []
            at = end
    return "".join([*shown, text[at:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the secrets of each reading of *text* begin and end."""
    yield from _of_user(text)
    for name in filter(lambda found: is_secret_name(found[1]), _NAME.finditer(text)):
        is_address = _SCHEME.search(text, 0, name.start()) is not None
        end = name.end()
        if not is_address and (value := _KEYWORD_VALUE.match(text, end)):
            end = value.end()
        following = (_NEXT_PARAMETER if is_address else _NEXT_KEYWORD).search(text, end)
        yield name.end(), following.start() if following else len(text)


def _of_user(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the password before the last ``@`` stands, or all of a token there.

    User names are shown in addresses of databases only: elsewhere they are often the key.
    """
    at = text.rfind("@")
    scheme = _SCHEME.search(text, 0, max(at, 0))
    if scheme is None:
        if (bare := _BARE_USER.match(text)) is not None:
            yield bare.span(1)
        return
    before = text[scheme.end() : at]
    colon = re.search(":|%3a", before, re.IGNORECASE)
    if scheme[1].casefold() not in {"postgresql", "postgres"}:
        if colon or not re.search(r"[/?#]", before) or before[0] in "/?#":  # no host: a secret
            yield scheme.end(), at
        elif "@" in (authority := re.split(r"[/?#]", before)[0]):
            yield scheme.end(), scheme.end() + authority.rindex("@")
    elif colon:
        yield scheme.end() + colon.end(), at
