from pathlib import Path
from typing import Any

import msgspec
import pytest

from cs.bus.kafka.settings import BadKafkaSettings, KafkaSettings, client_options

SCRAM = {"sasl_mechanism": "SCRAM-SHA-512", "username": "cs", "password": "pass-1"}


def settings(**given: Any) -> KafkaSettings:
    return KafkaSettings(**{"bootstrap_servers": ("kafka:9092",), "insecure": True, **given})


def test_a_password_is_never_shown() -> None:
    shown = settings(**SCRAM)

    assert "pass-1" not in f"{shown} {shown!r} {dict(shown.__rich_repr__())}"
    assert "username='cs'" in repr(shown)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bootstrap_servers": ()}, "host:port of one broker"),
        ({"bootstrap_servers": ("kafka",)}, "host:port of one broker"),
        ({"bootstrap_servers": ("kafka:0",)}, "host:port of one broker"),
        ({"bootstrap_servers": ("kafka:9092,other:9092",)}, "host:port of one broker"),
        ({"insecure": False}, "kafka:9092 is on another machine.*kafka_tls = true, or"),
        ({"bootstrap_servers": ("[::1]:1", "10.0.0.1:1"), "insecure": False}, r"10\.0\.0\.1"),
        ({"prefix": "a b"}, "prefix: at most 100 letters"),
        ({"ca_file": Path("ca.pem")}, "need tls = true"),
        ({"tls": True, "key_file": Path("k.pem")}, "go together"),
        ({"username": "cs"}, "need sasl_mechanism"),
        ({"password": "pass-1"}, "need sasl_mechanism"),
        ({**SCRAM, "password": None}, "SCRAM-SHA-512 needs username and password"),
        ({**SCRAM, "username": ""}, "SCRAM-SHA-512 needs username and password"),
        ({**SCRAM, "sasl_mechanism": "PLAIN"}, "sends the password in clear: set tls = true"),
        ({"session_timeout_s": 5.0}, "session_timeout_s: at least 6"),
        ({"rebalance_timeout_s": 9.0}, "rebalance_timeout_s: at least session_timeout_s"),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(
    given: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadKafkaSettings, match=message) as refused:
        settings(**given)

    assert "pass-1" not in str(refused.value)


def test_settings_that_are_read_are_checked_too() -> None:
    with pytest.raises(msgspec.ValidationError, match="prefix"):
        msgspec.convert({"bootstrap_servers": ["localhost:1"], "prefix": "/"}, KafkaSettings)


@pytest.mark.parametrize("server", ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"])
def test_brokers_of_this_machine_may_be_reached_in_clear(server: str) -> None:
    assert settings(bootstrap_servers=(server,), insecure=False).bootstrap_servers == (server,)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["ca_file"], "ca_file: cannot be used"),
        (["certificate_file", "key_file"], "certificate_file and key_file: cannot be used"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_is_no_certificate_is_named(
    names: list[str], message: str, tmp_path: Path, there: bool
) -> None:
    file = tmp_path / "file.pem"
    if there:
        file.write_text("no certificate")

    with pytest.raises(BadKafkaSettings, match=message):
        client_options(settings(tls=True, **dict.fromkeys(names, file)))
