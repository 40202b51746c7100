"""The chart as helm renders it, for each of its files of values.

Helm and the schemas of Kubernetes and KEDA are no packages of the development environment, and
helm takes minutes to build: `make check-chart` gets them.  Without them only the values are
checked, and no template is rendered.
"""

import functools
import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cli.command import ran
from cs.bus.topics import STAGE_TOPICS
from cs.settings import Settings, load
from deploy.compose_files import FOLDER, ROLES, STAGES, merged, project

pytestmark = pytest.mark.slow

CHART = FOLDER / "chart"
#: The oldest version that the chart is for, and the newest whose schemas are in the package.
KUBERNETES = ("1.27.0", "1.37.0")
KEDA = FOLDER.parent / "build" / "chart" / "keda.sh_scaledobjects.yaml"
SIZES: Mapping[str, tuple[str, ...]] = {
    "small": ("small",),
    "standard": ("standard",),
    "large": ("standard", "large"),
}

wants_helm = pytest.mark.skipif(
    shutil.which("helm") is None,
    reason="helm is not here, so no template was rendered; see `make check-chart`",
)


def values_of(size: str) -> dict[str, Any]:
    files = [CHART / "values.yaml", *(CHART / f"values/{name}.yaml" for name in SIZES[size])]
    return functools.reduce(merged, (yaml.safe_load(file.read_text()) for file in files))


def _helm(size: str, *words: str) -> str:
    values = [each for name in SIZES[size] for each in ("--values", f"values/{name}.yaml")]
    ended = subprocess.run(
        ["helm", *words, *values], cwd=CHART, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


@functools.cache
def rendered(size: str, kubernetes: str = KUBERNETES[-1]) -> tuple[dict[str, Any], ...]:
    text = _helm(size, "template", "cs", ".", "--kube-version", kubernetes)
    return tuple(each for each in yaml.safe_load_all(text) if each)


def by_component(size: str, *kinds: str) -> dict[str, dict[str, Any]]:
    return {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each
        for each in rendered(size)
        if each["kind"] in kinds
    }


def environment(workload: dict[str, Any]) -> dict[str, str]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def secrets(workload: dict[str, Any]) -> set[str]:
    volumes = {each["name"]: each for each in workload["spec"]["template"]["spec"]["volumes"]}
    sources = volumes["mounted"]["projected"]["sources"]
    return {each["secret"]["name"] for each in sources}


def test_the_chart_has_the_roles_of_the_containers_and_the_version_of_the_package() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    services = project()["services"]

    assert {name: role["command"] for name, role in values["roles"].items()} == {
        name: services[name]["command"] for name in ROLES
    }
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    tag = services["api"]["image"].partition(":")[2]
    assert chart["appVersion"] == chart["version"] == tag


@pytest.mark.parametrize("size", SIZES)
def test_values_name_settings_and_groups_that_there_are(size: str) -> None:
    values = values_of(size)
    groups, roles = values["groups"], [*values["roles"].values(), *values["jobs"].values()]
    given = [values, *groups.values(), *roles]
    named = {name for each in given for name in each.get("settings", {})}

    fields = set(Settings.__struct_fields__)
    assert {name.removeprefix("CS_").lower() for name in named} <= fields
    assert {name for role in roles for name in role["groups"]} == set(groups)
    empty = [
        name for group in groups.values() for name, v in group["settings"].items() if not v
    ]
    assert not empty, "a role could not run, or would find no person"


@pytest.mark.parametrize("size", SIZES)
def test_contact_discovery_has_a_source_of_people_to_ask(size: str) -> None:
    values = values_of(size)
    assert "search" in values["roles"]["contact-discovery"]["groups"]
    (used,) = ran("config", "check", "--json", **values["groups"]["search"]["settings"]).rows

    assert not [each for each in used["advice"] if each.startswith("people_sources")]


@wants_helm
def test_helm_names_a_setting_that_is_missing() -> None:
    ended = subprocess.run(
        [
            *("helm", "template", "cs", ".", "--kube-version", KUBERNETES[-1], "--values"),
            *("values/small.yaml", "--set", "groups.kafka.settings.CS_KAFKA="),
        ],
        cwd=CHART,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "set groups.kafka.settings.CS_KAFKA" in ended.stderr


@wants_helm
@pytest.mark.parametrize("size", SIZES)
def test_helm_finds_no_fault(size: str) -> None:
    assert "0 chart(s) failed" in _helm(size, "lint", "--strict", ".")


@wants_helm
@pytest.mark.parametrize("kubernetes", KUBERNETES)
@pytest.mark.parametrize("size", SIZES)
def test_every_manifest_fits_the_schemas_of_kubernetes(size: str, kubernetes: str) -> None:
    kube = pytest.importorskip("kubernetes_validate", reason="`make check-chart` gets it")
    checked = [each for each in rendered(size, kubernetes) if each["kind"] != "ScaledObject"]

    for manifest in checked:
        kube.validate(manifest, kubernetes, strict=True)
    assert len(checked) >= 3 * len(ROLES)


@wants_helm
@pytest.mark.parametrize("size", ["standard", "large"])
def test_every_stage_is_scaled_on_the_lag_of_its_own_topic(size: str) -> None:
    scaled = by_component(size, "ScaledObject")

    assert set(scaled) == set(STAGES)
    for name, topic in STAGE_TOPICS.items():
        (trigger,) = scaled[name]["spec"]["triggers"]
        assert trigger["metadata"]["topic"] == topic
        assert trigger["metadata"]["consumerGroup"] == name
        target = scaled[name]["spec"]["scaleTargetRef"]["name"]
        deployment = by_component(size, "Deployment")[name]
        assert deployment["metadata"]["name"] == target
        assert "replicas" not in deployment["spec"], "an upgrade would take members away"


@wants_helm
@pytest.mark.skipif(
    not KEDA.exists(), reason="KEDA's schema is not here; see `make check-chart`"
)
@pytest.mark.parametrize("size", ["standard", "large"])
def test_every_scaled_object_fits_the_schema_of_keda(size: str) -> None:
    (version,) = yaml.safe_load(KEDA.read_text())["spec"]["versions"]
    schema = _strict(version["schema"]["openAPIV3Schema"])

    for each in by_component(size, "ScaledObject").values():
        errors = Draft202012Validator(schema).iter_errors(each)
        assert [f"{error.json_path}: {error.message}" for error in errors] == []


@wants_helm
def test_settings_of_all_roles_reach_keda_and_what_all_reach_every_policy() -> None:
    collector = {"ports": [{"port": 4318}]}
    text = _helm(
        "standard",
        *("template", "cs", ".", "--kube-version", KUBERNETES[-1]),
        "--set=settings.CS_KAFKA_PREFIX=staging.",
        f"--set-json=network.egress=[{json.dumps(collector)}]",
    )
    manifests = [each for each in yaml.safe_load_all(text) if each]

    triggers = [
        each["spec"]["triggers"][0]["metadata"]
        for each in manifests
        if each["kind"] == "ScaledObject"
    ]
    assert {each["topic"] for each in triggers} == {
        f"staging.{topic}" for topic in STAGE_TOPICS.values()
    }
    assert {each["consumerGroup"] for each in triggers} == {f"staging.{n}" for n in STAGES}
    policies = [each["spec"] for each in manifests if each["kind"] == "NetworkPolicy"]
    assert all(collector in each["egress"] for each in policies)


@wants_helm
@pytest.mark.parametrize("size", SIZES)
def test_each_role_is_given_settings_that_it_takes_and_no_more(size: str) -> None:
    workloads = by_component(size, "Deployment", "Job")

    assert set(workloads) == {*ROLES, "migrate", "topics"}
    for name, workload in workloads.items():
        given = environment(workload)
        fields = set(Settings.__struct_fields__)
        assert {each.removeprefix("CS_").lower() for each in given} <= fields, name
        settings = load(environment=given)
        of_service = name in ROLES and name not in STAGES
        assert (settings.postgres is not None) == (of_service or name == "migrate"), name
        assert (settings.master_key_file is not None) == (of_service or name == "migrate")
        assert bool(settings.kafka) == (name not in {"api", "project", "migrate"})
        user = f"stage-{name}" if name in STAGES else name
        if settings.kafka_username is not None:
            assert settings.kafka_username == f"cs-{user}"
        own = {each for each in secrets(workload) if each.endswith(f"-{user}")}
        others = {
            each for each in secrets(workload) if each.startswith("contact-search-kafka-")
        }
        assert others - own <= {"contact-search-kafka-ca"}, "the password of another role"
        if name in STAGES:
            assert "contact-search-service" not in secrets(workload)


@wants_helm
def test_alerts_expect_one_process_fewer_than_the_chart_has() -> None:
    (given,) = by_component("large", "ConfigMap")["expected"]["data"].values()
    (group,) = yaml.safe_load(given)["groups"]
    file = yaml.safe_load((FOLDER / "monitoring" / "contact-search.expected.yaml").read_text())
    shipped = next(each["rules"] for each in file["groups"])

    roles = {each["labels"]["role"]: each["expr"] for each in group["rules"]}
    assert set(roles) == {
        each["labels"]["role"] for each in shipped if each["record"] == "cs:expected_processes"
    }
    assert {each["record"] for each in group["rules"]} == {"cs:expected_processes"}
    assert roles["api"] == "vector(5)"
    assert roles["stage verification"] == "vector(11)"
    assert roles["relay"] == "vector(1)"


@wants_helm
@pytest.mark.parametrize("size", SIZES)
def test_every_container_is_closed_and_every_pod_has_a_policy(size: str) -> None:
    assert by_component(size, "PodDisruptionBudget").keys() == set(ROLES)
    policies = by_component(size, "NetworkPolicy")

    for name, workload in by_component(size, "Deployment", "Job").items():
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        for container in (*pod["initContainers"], *pod["containers"]):
            closed = container["securityContext"]
            assert closed["readOnlyRootFilesystem"]
            assert not closed["allowPrivilegeEscalation"]
            assert closed["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
        chosen = policies[name]["spec"]["podSelector"]["matchLabels"]
        assert chosen.items() <= workload["spec"]["template"]["metadata"]["labels"].items()
        hook = "helm.sh/hook"
        annotations = [
            each["metadata"].get("annotations", {}) for each in (policies[name], workload)
        ]
        assert annotations[0].get(hook) == annotations[1].get(hook), "it comes too late"
        assert int(annotations[0].get(f"{hook}-weight", 0)) == (-1 if name not in ROLES else 0)
        reaches_out = "0.0.0.0/0" in json.dumps(policies[name]["spec"]["egress"])
        assert reaches_out == (
            name in {"brand-resolution", "contact-discovery", "verification"}
        )


def _strict(schema: Any) -> Any:
    """Return *schema* so that it refuses fields it does not have, which a server drops."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _strict(each) for name, each in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        strict.setdefault("additionalProperties", False)
    return strict
