"""The body of ``POST /contacts``: what is accepted is what the OpenAPI document says."""

import asyncio
import hashlib
import re
from typing import NoReturn

import msgspec
from starlette.requests import Request

from cs.api.errors import ApiError
from cs.domain.contact import Query
from cs.domain.key import Idempotency
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand

#: Contract B16.
MAX_BYTES = 16 * 1024
#: Contract L14.
MAX_IDEMPOTENCY_KEY = 255


class ContactsBody(msgspec.Struct):
    brand: str | msgspec.UnsetType = msgspec.UNSET
    domain: str | msgspec.UnsetType = msgspec.UNSET
    wait: bool = False


class ContactsRequest(msgspec.Struct, frozen=True):
    """A valid request for contacts."""

    brand: str  # as the record shows it
    query: Query
    wait: bool
    idempotency: Idempotency | None


_decoder = msgspec.json.Decoder(ContactsBody)
#: How msgspec words a value of another type.
_WRONG_TYPE = re.compile(
    r"Expected `(?P<wanted>\w+)`, got `(?P<got>\w+)`(?: - at `\$\.(?P<field>\w+)`)?"
)
_JSON_TYPES = {
    "str": "a string",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "array": "an array",
    "object": "an object",
}


async def read_contacts(request: Request, within_s: float) -> ContactsRequest:
    """Return what *request* asks for, its body read within *within_s* seconds.

    Raises:
        ApiError: ``invalid_request``, with what is wrong and what to send.
        ClientDisconnect: The caller hung up before all of its body had come.
    """
    _check_media_type(request)
    body = _decode(await _read_within(within_s, request))
    query = _query(body)
    shown = query.brand or query.domain
    assert shown is not None
    return ContactsRequest(shown, query, body.wait, _idempotency(request, query))


def _check_media_type(request: Request) -> None:
    types = request.headers.getlist("content-type")
    media_type, _, parameters = (types[0] if len(types) == 1 else "").partition(";")
    if media_type.strip().lower() != "application/json":
        _refuse("the media type is not JSON; send `Content-Type: application/json`")
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset" and value.strip('"').lower() not in {"utf-8", "utf8"}:
            _refuse("the charset must be utf-8, or left out")
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() not in {"", "identity"}:
        _refuse("the body must not be compressed; leave Content-Encoding out")


async def _read_within(within_s: float, request: Request) -> bytes:
    try:
        async with asyncio.timeout(within_s):
            return await _read(request)
    except TimeoutError:
        message = f"the body did not come within {within_s:g} s; send it whole, and at once"
        raise ApiError("invalid_request", message) from None


async def _read(request: Request) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > MAX_BYTES:
        _refuse(_TOO_LARGE)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            _refuse(_TOO_LARGE)
    return bytes(body)


def _decode(data: bytes) -> ContactsBody:
    try:
        data.decode()  # bad UTF-8 is no JSON, in an ignored field too (contract B13)
        return _decoder.decode(data)
    except RecursionError:
        _refuse("the JSON is nested too deeply")
    except UnicodeDecodeError:
        _refuse("the body is not UTF-8")
    except msgspec.ValidationError as error:
        _refuse(f"{_in_json_types(error)}; {_WANTED}")
    except msgspec.DecodeError as error:
        why = str(error).removeprefix("JSON is malformed: ").rstrip(".")
        _refuse(f"the body is not JSON ({why[:1].lower()}{why[1:]}); {_WANTED}")


def _in_json_types(error: msgspec.ValidationError) -> str:
    """Return what msgspec says of a value, in JSON's types: "`brand` must be a string"."""
    found = _WRONG_TYPE.fullmatch(str(error))
    if found is None:
        return str(error)
    wanted, got = (_JSON_TYPES.get(found[kind], found[kind]) for kind in ("wanted", "got"))
    place = f"`{found['field']}`" if found["field"] else "the body"
    return f"{place} must be {wanted}, not {got}"


def _query(body: ContactsBody) -> Query:
    if body.brand is msgspec.UNSET and body.domain is msgspec.UNSET:
        _refuse(f"neither `brand` nor `domain` was sent; {_WANTED}")
    try:
        brand = None if isinstance(body.brand, msgspec.UnsetType) else clean_brand(body.brand)
        domain = (
            None
            if isinstance(body.domain, msgspec.UnsetType)
            else canonical_domain(body.domain)
        )
    except Unacceptable as error:
        _refuse(str(error))
    return Query(brand, domain)


def _idempotency(request: Request, query: Query) -> Idempotency | None:
    """Return the request's idempotency key and body as hashes (contract L14)."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    key = keys[0]
    visible = all("!" <= character <= "~" for character in key)
    if len(keys) > 1 or not key or not visible or len(key) > MAX_IDEMPOTENCY_KEY:
        _refuse("Idempotency-Key must be one value of 1 to 255 visible ASCII characters")
    body = msgspec.json.encode(query)
    return Idempotency(_sha256(key.encode()), _sha256(body))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse(message: str) -> NoReturn:
    raise ApiError("invalid_request", message)


_TOO_LARGE = f"the body is larger than {MAX_BYTES // 1024} KiB"
_WANTED = 'send a JSON object such as {"brand": "Acme", "domain": "acme.example"}'
