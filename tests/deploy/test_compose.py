import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cli.command import ran
from cs.settings import ENV_PREFIX, Settings, load
from deploy.compose_files import (
    BASE,
    FOLDER,
    ONCE,
    ROLES,
    STAGES,
    THREE_BROKERS,
    USERS,
    NotSet,
    project,
    read,
)

pytestmark = pytest.mark.slow

#: The compose specification's own schema, with its licence in the same folder.
SCHEMA = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
WHOLE = project()
SERVICES: dict[str, dict[str, Any]] = WHOLE["services"]

#: Secrets that open personal data, which no stage may have.
OPENS_DATA = {"master_key", "service_pgpass", "migrate_pgpass", "keys_password"}
#: Secrets that allow everything on Kafka.
OF_THE_BROKERS = {"kafka_jaas", "kafka_users"}


def _secrets(name: str) -> set[str]:
    return set(SERVICES[name].get("secrets", ()))


def _password_of(name: str) -> str:
    return f"kafka_{USERS[name].removeprefix('cs-').replace('-', '_')}_password"


def _networks(name: str) -> set[str]:
    return set(SERVICES[name]["networks"])


def test_the_files_fit_the_compose_specification_apart_and_merged() -> None:
    for file in (read(BASE), read(THREE_BROKERS), project(THREE_BROKERS)):
        errors = Draft202012Validator(SCHEMA).iter_errors(file)
        assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_compose_refuses_to_start_without_secrets() -> None:
    with pytest.raises(NotSet, match="run deploy/make-secrets"):
        project(variables={})


def test_the_service_takes_every_setting_and_a_stage_holds_no_key_to_personal_data() -> None:
    for name in ROLES:
        given = SERVICES[name]["environment"]
        settings = load(environment=given)  # which takes no notice of empty ones
        fields = set(Settings.__struct_fields__)
        assert {each.removeprefix(ENV_PREFIX).lower() for each in given} <= fields
        assert settings.admin_port == 8081, "where the health check asks"
        if name in STAGES:
            assert settings.postgres is settings.keys_postgres is None
            assert settings.master_key_file is None
            assert _secrets(name) == {"stages_key", "stages_pgpass", _password_of(name)}
            assert not _secrets(name) & OPENS_DATA


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_the_password_of_its_own_kafka_user_only(name: str) -> None:
    held = {each for each in _secrets(name) if each.startswith("kafka_")}
    given = SERVICES[name].get("environment", {})
    settings = load(environment={k: v for k, v in given.items() if k.startswith(ENV_PREFIX)})

    if name not in USERS:
        assert held == (OF_THE_BROKERS if name == "kafka" else set())
        assert settings.kafka_password_file is None
        return
    assert held == {_password_of(name)}
    assert settings.kafka_password_file == Path(f"/run/secrets/{_password_of(name)}")
    assert (settings.kafka_sasl, settings.kafka_username) == ("SCRAM-SHA-512", USERS[name])


def test_every_kafka_user_of_compose_has_rights() -> None:
    allowed = re.findall(r"--allow-principal User:(\S+)", ran("topics", "acls").out)

    optional = {"cs-feed-reader", "cs-console"}  # no container here is one
    assert set(USERS.values()) == set(allowed) - optional


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ROLES[:4]])
def test_only_roles_that_need_the_key_store_share_a_network_with_it(name: str) -> None:
    reaches = "keys-data" in _networks(name)

    assert reaches == (name in {"keys-postgres", "migrate"})


def test_the_key_store_shares_neither_volume_nor_secret_with_the_other_databases() -> None:
    assert not _secrets("postgres") & _secrets("keys-postgres")
    assert _data_volume("postgres") != _data_volume("keys-postgres")


def _data_volume(name: str) -> str:
    (volume,) = [each for each in SERVICES[name]["volumes"] if "/var/lib/postgresql" in each]
    return str(volume.split(":")[0])


def test_only_the_proxy_publishes_a_port_and_only_on_this_machine() -> None:
    published = {name: each["ports"] for name, each in SERVICES.items() if "ports" in each}

    assert published == {"proxy": ["127.0.0.1:8080:8080"]}


def test_only_containers_that_call_the_outside_world_reach_it() -> None:
    open_networks = {
        name for name, each in WHOLE["networks"].items() if not each.get("internal")
    }

    assert {name for name in SERVICES if _networks(name) & open_networks} == {
        *("proxy", "searxng"),
        *("brand-resolution", "contact-discovery", "verification"),
    }


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_closed_pinned_and_kept_running(name: str) -> None:
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "devices"} & set(service)
    assert re.search(r":\d+\.\d+(\.\d+)?(-[\w.]+)?$", service["image"]), service["image"]
    if name in {*ROLES, *ONCE, "proxy", "postgres", "keys-postgres"}:
        assert service["user"] == "10001:10001"
        assert service["read_only"] is True, "nothing to write to but memory and data"
        assert any(each.startswith("/tmp:") for each in service["tmpfs"])
    if name not in ONCE:
        assert service["healthcheck"]["test"][0] == "CMD"
        assert service["restart"] == "unless-stopped"
        assert "stop_grace_period" in service or name == "searxng"
    if name in ROLES:
        waits = {service["depends_on"][once]["condition"] for once in ONCE}
        assert waits == {"service_completed_successfully"}, "for the schema and the topics"


def test_every_secret_is_a_file_that_is_used() -> None:
    used = set().union(*(_secrets(name) for name in SERVICES))

    assert {name: each["file"] for name, each in WHOLE["secrets"].items()} == {
        name: f"secrets/{name}" for name in used
    }


def test_no_file_or_environment_contains_a_password() -> None:
    written = yaml.safe_dump({name: each.get("environment") for name, each in SERVICES.items()})

    assert not re.search(r"://[^/\s@]+:[^/\s@]+@", written + BASE.read_text())
    assert not re.search(r"(?im)(password|secret|_key):", written)


@pytest.mark.parametrize("name", SERVICES)
def test_every_mounted_file_is_there(name: str) -> None:
    sources = [each.split(":")[0] for each in SERVICES[name].get("volumes", ())]
    files = [each for each in sources if each.startswith(".")]

    assert [each for each in files if not (FOLDER / each).is_file()] == []
    assert {each for each in sources if each not in files} <= set(WHOLE["volumes"])


@pytest.mark.parametrize("name", USERS)
def test_with_three_brokers_every_user_knows_all_of_them(name: str) -> None:
    three = project(THREE_BROKERS)["services"]

    assert load(environment=three[name]["environment"]).kafka == (
        *("kafka:9092", "kafka-2:9092", "kafka-3:9092"),
    )


def test_with_three_brokers_one_may_be_lost() -> None:
    three = project(THREE_BROKERS)["services"]
    brokers = [three[name] for name in ("kafka", "kafka-2", "kafka-3")]
    settings = [broker["environment"] for broker in brokers]

    assert [each["KAFKA_NODE_ID"] for each in settings] == ["1", "2", "3"]
    assert len({each["CLUSTER_ID"] for each in settings}) == 1
    for each in settings:
        copies = {value for key, value in each.items() if "REPLICATION_FACTOR" in key}
        in_sync = {value for key, value in each.items() if key.endswith(("_ISR", "_REPLICAS"))}
        assert (copies, in_sync) == ({"3"}, {"2"})
        assert each["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert "--replication=3" in three["topics"]["command"]
    assert len({tuple(broker["volumes"]) for broker in brokers}) == 3
