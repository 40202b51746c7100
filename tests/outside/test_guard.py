from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.outside.port import Forbidden
from harness.clients import guard

#: Characters of a URL at most.
URL_MAX = 8_192

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.128.0.1"]
PUBLIC_IPV6 = ["2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8"]

CLOSED = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
]
CLOSED_IPV6 = [
    "::",
    "::1",
    "::8.8.8.8",  # IPv4-compatible
    "::127.0.0.1",
    "::ffff:127.0.0.1",  # IPv4-mapped
    "::ffff:0:8.8.8.8",  # IPv4-translated
    "64:ff9b::8.8.8.8",  # NAT64
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::10.0.0.1",  # NAT64, local use
    "100::1",  # discard
    "2001::1",  # Teredo
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:20::1",  # ORCHIDv2
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:808:808::",
    "3fff::1",
    "5f00::1",  # segment routing
    "fd00:ec2::254",  # metadata of a cloud
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",  # site-local
    "ff02::1",
]


@pytest.mark.parametrize("address", PUBLIC + PUBLIC_IPV6)
def test_the_public_internet_is_open(address: str) -> None:
    guard().check(address)


@pytest.mark.parametrize("address", CLOSED + CLOSED_IPV6)
def test_everything_else_is_closed(address: str) -> None:
    with pytest.raises(Forbidden):
        guard().check(address)


@pytest.mark.parametrize(
    "text",
    ["", "localhost", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "8.8.8.8 ", "8.8.8.8/32"],
)
def test_what_is_no_address_is_closed(text: str) -> None:
    with pytest.raises(Forbidden, match="no IP address"):
        guard().check(text)


def test_an_allowed_network_is_open_and_its_neighbour_is_not() -> None:
    judge = guard("127.16.0.0/16", "fd00:1::/32")

    judge.check("127.16.3.4")
    judge.check("::ffff:127.16.3.4")
    judge.check("fd00:1::9")
    for closed in ("127.17.0.1", "::ffff:127.17.0.1", "fd00:2::9", "10.0.0.1"):
        with pytest.raises(Forbidden):
            judge.check(closed)


@pytest.mark.parametrize(
    ("network", "opened", "closed"),
    [
        ("64:ff9b::/96", "64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1"),
        ("2002::/16", "2002:808:808::1", "2002:a00:1::1"),
        ("2001::/32", "2001:0:808:808::f7f7:f7f7", "2001:0:808:808::f5ff:fffe"),
        ("::/96", "::8.8.8.8", "::10.0.0.1"),
    ],
)
def test_opening_a_tunnel_does_not_open_what_is_behind_it(
    network: str, opened: str, closed: str
) -> None:
    judge = guard(network)

    judge.check(opened)
    with pytest.raises(Forbidden):
        judge.check(closed)


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_passes_is_global_unicast_by_another_table_too(
    ip: IPv4Address | IPv6Address,
) -> None:
    try:
        guard().check(str(ip))
    except Forbidden:
        return
    inner = ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip
    assert inner.is_global
    assert not any(
        (inner.is_multicast, inner.is_loopback, inner.is_link_local, inner.is_private)
    )
    assert not any((inner.is_reserved, inner.is_unspecified))


@given(st.ip_addresses(v=4))
def test_a_closed_address_stays_closed_however_it_is_carried(ip: IPv4Address) -> None:
    wide_open = guard("::/0")
    try:
        wide_open.check(str(ip))
    except Forbidden:
        for carried in (
            f"::ffff:{ip}",
            str(IPv6Address((0x64FF9B << 96) | int(ip))),
            str(IPv6Address((0x2002 << 112) | (int(ip) << 80) | 1)),
            str(IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (int(ip) ^ 0xFFFFFFFF))),
        ):
            with pytest.raises(Forbidden):
                wide_open.check(carried)


@given(st.text(max_size=40))
def test_any_text_is_allowed_or_forbidden_and_nothing_else(text: str) -> None:
    try:
        guard().check(text)
    except Forbidden:
        return
    assert str(ip_address(text)).count(".") in {0, 3}


@pytest.mark.parametrize(
    "url",
    [
        "https://acme.example",
        "http://acme.example:80/",
        "https://acme.example:443/x?y#z",
        "https://münchen.de/",
        "http://8.8.8.8/",
        "http://8.8.8.8./",
        "https://xn--mnchen-3ya.de/",
        "https://XN--MNCHEN-3YA.de./",
        "https://my_shop.acme.example/",
        f"http://acme.test/{'a' * (URL_MAX - 17)}",
    ],
)
def test_a_plain_web_address_may_be_fetched(url: str) -> None:
    guard().check_url(url)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://acme.example/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://acme.example/", "scheme"),
        ("//acme.example/", "scheme"),
        ("acme.example", "scheme"),
        ("", "scheme"),
        ("http:///path", "no host"),
        ("http://acme.example:22/", "port 22"),
        ("http://acme.example:8080/", "port 8080"),
        ("http://acme.example:0/", "port 0"),
        ("http://jo@acme.example/", "user name"),
        ("http://jo:secret@acme.example/", "user name"),
        ("https://acme.example\\@evil.example/", "user name"),
        ("http://127.0.0.1/", "public internet"),
        ("http://[::1]/", "public internet"),
        ("http://[::ffff:169.254.169.254]/", "public internet"),
        ("http://acme.example:x/", "not a URL"),
        ("http://\u2024/", "not a URL"),
        ("http://xn--a.test/", "no host name"),
        ("http://www.XN--A.test/", "no host name"),
        ("http://xn--/", "no host name"),
        ("http://acme..test/", "no host name"),
        ("http://acme.test../", "no host name"),
        (f"http://{'a' * 64}.test/", "no host name"),
        (f"http://{'a.' * 127}test/", "no host name"),
        ("http://[fe80::1%25eth0]/", "not a URL|public|link"),
        ("http://[2606:4700::1111%25lo]/", "not a URL|link"),
        (f"http://acme.test/{'a' * URL_MAX}", "more than"),
    ],
)
def test_any_other_url_is_refused(url: str, why: str) -> None:
    with pytest.raises(Forbidden, match=why):
        guard().check_url(url)


def test_other_web_ports_take_the_place_of_the_usual_ones() -> None:
    judge = guard(web_ports=(8080, 8443))

    judge.check_url("http://acme.test:8080/")
    judge.check_url("https://acme.test/")
    with pytest.raises(Forbidden):
        judge.check_url("https://acme.test:80/")


@given(st.text(max_size=60) | st.text(max_size=40).map("http://".__add__))
def test_any_text_is_a_url_or_forbidden(text: str) -> None:
    try:
        guard().check_url(text)
    except Forbidden:
        return
    assert text.strip().lower().startswith("http")


def test_denied_networks_are_closed_however_they_are_written_and_whatever_is_allowed() -> None:
    denied = ["93.184.216.0/24", "2a00:1450::/32"]
    judge = guard(*denied, denied=denied)
    for address in ("93.184.216.34", "::ffff:93.184.216.34", "2a00:1450:4001:81b::200e"):
        with pytest.raises(Forbidden):
            judge.check(address)
    with pytest.raises(Forbidden):
        guard("64:ff9b::/96", denied=denied).check("64:ff9b::5db8:d822")
    with pytest.raises(Forbidden):
        judge.check_url("http://93.184.216.34/")

    judge.check("93.184.217.34")
