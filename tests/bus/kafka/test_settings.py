"""Settings of Kafka that do not go together are refused with advice, before any connection."""

import pytest

from cli.command import Here

PLAIN = {"CS_KAFKA": "kafka:9092", "CS_INSECURE_KAFKA": "true"}
SCRAM = {
    **PLAIN,
    "CS_KAFKA_SASL": "SCRAM-SHA-512",
    "CS_KAFKA_USERNAME": "cs",
    "CS_KAFKA_PASSWORD": "pass-1",
}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"CS_KAFKA": "kafka"}, "a list of brokers as host:port"),
        ({"CS_KAFKA": "kafka:0"}, "host:port of one broker"),
        (
            {"CS_KAFKA": "127.0.0.1:1,10.0.0.1:9092"},
            "10.0.0.1:9092 is on another machine, and messages carry people: set kafka_tls",
        ),
        ({**PLAIN, "CS_KAFKA_PREFIX": "a b"}, "prefix: at most 100 letters"),
        ({**PLAIN, "CS_KAFKA_CA_FILE": "ca.pem"}, "need tls = true"),
        ({**PLAIN, "CS_KAFKA_TLS": "true", "CS_KAFKA_KEY_FILE": "k.pem"}, "go together"),
        ({**PLAIN, "CS_KAFKA_USERNAME": "cs"}, "need sasl_mechanism"),
        ({**PLAIN, "CS_KAFKA_PASSWORD": "pass-1"}, "need sasl_mechanism"),
        ({**SCRAM, "CS_KAFKA_PASSWORD": ""}, "SCRAM-SHA-512 needs username and password"),
        ({**SCRAM, "CS_KAFKA_USERNAME": ""}, "SCRAM-SHA-512 needs username and password"),
        ({**SCRAM, "CS_KAFKA_SASL": "PLAIN"}, "sends the password in clear: set tls = true"),
        ({**PLAIN, "CS_KAFKA_SESSION_TIMEOUT_S": "5"}, "session_timeout_s: at least 6"),
        (
            {**PLAIN, "CS_KAFKA_TLS": "true", "CS_KAFKA_CA_FILE": __file__},
            "ca_file: cannot be used",
        ),
        (
            {
                **PLAIN,
                "CS_KAFKA_TLS": "true",
                "CS_KAFKA_CERTIFICATE_FILE": __file__,
                "CS_KAFKA_KEY_FILE": "/nowhere",
            },
            "certificate_file and key_file: cannot be used",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_advice(
    here: Here, given: dict[str, str], message: str
) -> None:
    refused = here("config", "check", **given).error(2)

    assert message in refused
    assert "pass-1" not in refused


@pytest.mark.parametrize("server", ["127.0.0.1:1", "127.9.9.9:1", "localhost:1"])
def test_brokers_of_this_machine_may_be_reached_in_clear(here: Here, server: str) -> None:
    assert here("config", "check", CS_KAFKA=server).code == 0


def test_a_password_is_never_shown(here: Here) -> None:
    assert here("config", "check", **SCRAM).code == 0
    assert "pass-1" not in here("config", "show", **SCRAM).out
