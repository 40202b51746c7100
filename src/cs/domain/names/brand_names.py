"""Brand and domain as callers write them, and the cache key that they make.

Rows B1 to B9, B18, B19, C1 and the vectors of contract V1 and V2 are decided here.  All is
a function of its arguments: no suffix list, no look-up, so that the same request is
valid on every server.
"""

import json
import re
import unicodedata
from collections.abc import Iterator

import idna

BRAND_MIN = 2  # code points of the cleaned name
BRAND_MAX = 120  # code points as sent

# The white space of Unicode (property White_Space) with C0 and DEL.  Spelled out,
# because `\s` means something else in ECMA 262, in Python and in RE2.
_BLANK = (
    r"\u0000-\u0020\u007f\u0085\u00a0\u1680\u2000-\u200a"
    r"\u2028\u2029\u202f\u205f\u3000"
)

#: For JSON Schema, with ``minLength`` and ``maxLength``: two characters that are not
#: blank.  Together they accept exactly what `clean_brand` accepts.
BRAND_PATTERN = f"[^{_BLANK}][{_BLANK}]*[^{_BLANK}]"

_AT = r"@\ufe6b\uff20"  # with what NFKC makes of it
_DOT = r".\u2024\u3002\ufe52\uff0e\uff61"  # what IDNA or NFKC takes for a dot
_NO_LETTER = r"\u0021-\u0040\u005b-\u0060\u007b-\u007e"  # ASCII digits and punctuation

#: For JSON Schema, as what must not match: ``local@host.tld`` anywhere in the name.
EMAIL_PATTERN = (
    f"[^{_BLANK}{_AT}/][{_AT}][^{_BLANK}{_AT}{_DOT}][^{_BLANK}{_AT}]*"
    f"[{_DOT}][^{_BLANK}{_AT}{_DOT}{_NO_LETTER}]{{2}}"
)

_BLANKS = re.compile(f"[{_BLANK}]+")
_EMAIL = re.compile(EMAIL_PATTERN)
_SURROGATE = re.compile("[\ud800-\udfff]")

HOST_MAX = 253  # RFC 1035 2.3.4, without the trailing dot
_WRITTEN_MAX = 1024  # longer than any name of 253 ASCII characters is ever written
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LDH = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123 2.1
_IN_USE = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")  # as DNS has them, too
_A_LABEL = "xn--"  # what encoded labels begin with (RFC 5890 2.3.2.1)
_PORT = re.compile("[0-9]{1,5}")
_ENDS_IN_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # as an IPv4 address may (WHATWG URL)
#: Never the name of a public web site (RFC 6761, RFC 6762, RFC 7686, RFC 9476 and ICANN).
SPECIAL_USE = frozenset({"localhost", "local", "internal", "invalid", "arpa", "onion"})


class Unacceptable(ValueError):
    """A brand or a domain that no search can start from.

    Attributes:
        message: For the caller: what to send instead.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def clean_brand(raw: str) -> str:
    r"""Return *raw* on one line and trimmed; case and spelling stay.

    Raises:
        Unacceptable: More than 120 code points as sent, fewer than 2 when cleaned, no
            Unicode text (lone surrogates), or an e-mail address in it: that is a person,
            who would be stored in clear and asked of search engines (contract B18).

    >>> clean_brand(" Old\nNavy ")
    'Old Navy'
    """
    if len(raw) > BRAND_MAX:
        raise Unacceptable(
            f"brand must have at most {BRAND_MAX} characters: send a shorter name"
        )
    if _SURROGATE.search(raw):
        raise Unacceptable("brand must be Unicode text: send it without lone surrogates")
    cleaned = _BLANKS.sub(" ", raw).strip(" ")
    if len(cleaned) < BRAND_MIN:
        raise Unacceptable(
            f"brand must have at least {BRAND_MIN} characters besides white space: "
            "send the full name"
        )
    if _EMAIL.search(raw):
        raise Unacceptable("`brand` must be a name, not an e-mail address")
    return cleaned


def canonical_domain(raw: str) -> str:
    """Return the host of *raw*, a domain or a web address, as lower-case A-labels.

    Only ``www.`` is dropped: ``oldnavy.gap.com`` and ``gap.com`` are different brands.

    Raises:
        Unacceptable: Not the name of a public web site.

    >>> canonical_domain("HTTPS://WWW.Nike.com:443/x?y#z")
    'nike.com'
    """
    labels = _ascii_host(_written_host(raw)).removesuffix(".").split(".")
    while len(labels) > 2 and labels[0] == "www":
        labels = labels[1:]
    _check_host(labels)
    return ".".join(labels)


def is_host_name(host: str) -> bool:
    """Say whether *host*, in ASCII, is a name that resolvers and clients can use.

    Unlike a brand's domain it may have underscores, a single label and a dot at its end.

    >>> is_host_name("mx_1.acme.example."), is_host_name("xn--a.example")
    (True, False)
    """
    name = host.lower().removesuffix(".")
    if len(name) > HOST_MAX:
        return False
    if not all(_IN_USE.fullmatch(each) and _is_sound(each) for each in name.split(".")):
        return False
    return not name.startswith(_A_LABEL) or _decodes(name)


def _decodes(name: str) -> bool:
    """Say whether all of *name* can be decoded.

    httpx decodes all of a host that begins with ``xn--``, and no other host.  Then no label
    may have an underscore, or hyphens as its third and fourth characters.
    """
    try:
        idna.decode(name)
    except UnicodeError:  # idna.IDNAError is one
        return False
    return True


def _is_sound(label: str) -> bool:
    """Say whether *label*, lower-case LDH, is none that is encoded or one that decodes.

    Source:
        RFC 5891 5.3 and 5.4: what an A-label stands for, encoded, is that A-label.
    """
    if not label.startswith(_A_LABEL):
        return True
    try:
        return idna.alabel(idna.ulabel(label)) == label.encode()
    except UnicodeError:  # idna.IDNAError is one
        return False


def _written_host(raw: str) -> str:
    """Return the host of *raw* as it was written, without scheme, port and path."""
    text = _BLANKS.sub(" ", raw).strip(" ")
    scheme = _SCHEME.match(text)
    if scheme and scheme[0].lower() not in {"http://", "https://"}:
        raise Unacceptable("domain must be a web address: send it with https:// or without")
    authority = re.split(r"[/?#\\]", text[scheme.end() if scheme else 0 :], maxsplit=1)[0]
    if "@" in authority:
        raise Unacceptable("domain must not carry a user name: send the web site's host only")
    if authority.startswith("["):
        raise Unacceptable("domain must be a name, not an IP address")
    host, _, port = authority.partition(":")
    digits = port.lstrip("0")
    if port and not (_PORT.fullmatch(digits) and int(digits) <= 65_535):
        raise Unacceptable(
            "domain must not carry anything but a port from 1 to 65535 after ':'"
        )
    if not host:
        raise Unacceptable("domain must name a host, such as nike.com")
    if len(host) > _WRITTEN_MAX:
        raise Unacceptable(f"domain must have at most {HOST_MAX} characters")
    return host


def _ascii_host(host: str) -> str:
    """Return *host* with UTS 46 non-transitional mapping and A-labels, if it needs them."""
    if host.isascii():
        return host.lower()
    try:
        mapped = idna.uts46_remap(host, std3_rules=False, transitional=False)
        return ".".join(
            label if label.isascii() else idna.alabel(label).decode("ascii")
            for label in mapped.split(".")
        )
    except UnicodeError:  # idna.IDNAError is one
        raise Unacceptable(
            "domain has a character that no domain name may have: send its ASCII form"
        ) from None


def _check_host(labels: list[str]) -> None:
    if not all(_LDH.fullmatch(label) for label in labels):
        raise Unacceptable(
            "domain must consist of letters, digits and hyphens between its dots, "
            "at most 63 in a row: send it like nike.com"
        )
    if _ENDS_IN_NUMBER.fullmatch(labels[-1]):
        raise Unacceptable("domain must be a name, not an IP address")
    if labels[-1] in SPECIAL_USE:
        reserved = labels[0] if len(labels) < 2 else f".{labels[-1]}"
        raise Unacceptable(f"domain must be public: {reserved} is reserved")
    if len(labels) < 2:
        raise Unacceptable(f"domain must have a dot: send {labels[0]}.com or the like")
    if not all(map(_is_sound, labels)):
        raise Unacceptable(
            "domain has a label with xn-- that stands for no name: send the name as it is read"
        )
    if sum(map(len, labels)) + len(labels) - 1 > HOST_MAX:
        raise Unacceptable(f"domain must have at most {HOST_MAX} characters")


def sites_of(host: str) -> Iterator[str]:
    """Yield *host* and each host above it that has two labels at least.

    Which of them is a site, and which a suffix that registries sell names below, only a
    source that knows the site can say.

    >>> list(sites_of("eu.shop.acme.com"))
    ['eu.shop.acme.com', 'shop.acme.com', 'acme.com']
    """
    while "." in host:
        yield host
        host = host.partition(".")[2]


def cache_name(brand: str) -> str:
    """Return *brand* without what people write differently and mean alike.

    Case, width and the number of spaces (NFKC, casefold) are gone; anything more would
    let one brand answer for another.

    >>> cache_name("ＮＩＫＥ  Straße")
    'nike strasse'
    """
    text, before = brand, None
    while text != before:  # folding can call for composing again, and the other way round
        text, before = unicodedata.normalize("NFKC", text).casefold(), text
    return _BLANKS.sub(" ", text).strip(" ")


def cache_key(brand: str | None, domain: str | None) -> str:
    """Return the one text of the pair (*brand*, canonical *domain*), to be hashed.

    Raises:
        ValueError: Both are ``None``.

    >>> cache_key("NIKE ", None), cache_key("Nike", "nike.com")
    ('["nike",null]', '["nike","nike.com"]')
    """
    if brand is None and domain is None:
        raise ValueError("a cache key needs a brand or a domain")
    name = None if brand is None else cache_name(brand)
    return json.dumps([name, domain], ensure_ascii=False, separators=(",", ":"))
