"""Brings the topics on a cluster to what is planned: adds, never deletes or shrinks."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic  # type: ignore[import-untyped,unused-ignore]
from aiokafka.admin.config_resource import (  # type: ignore[import-untyped,unused-ignore]
    ConfigResource,
    ConfigResourceType,
)
from aiokafka.errors import (  # type: ignore[import-untyped,unused-ignore]
    KafkaConnectionError,
    KafkaError,
    for_code,
)
from aiokafka.protocol.metadata import MetadataRequest  # type: ignore[import-untyped,unused-ignore]

from cs.bus.kafka.availability import check_available
from cs.bus.kafka.settings import CannotApply, KafkaSettings, client_options
from cs.bus.port import BusUnavailable
from cs.bus.topics import TopicPlan

#: Of `DescribeConfigs`: the value was set on the topic itself.
OF_THE_TOPIC = 1
#: Error codes of the protocol.
UNKNOWN_TOPIC = 3
TOPIC_EXISTS = 36
#: Between two looks whether a broker knows a new topic.
POLL_S = 0.05
#: How long brokers are waited for that have not registered yet.
BROKERS_S = 10.0
#: How long making all topics may take: brokers that have just started are slow to.
APPLY_S = 60.0


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # on the broker, the operator's prefix included
    partitions: int
    replication: int
    configs: Mapping[str, str]  # those set on the topic itself


class TopicResult(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    done: tuple[str, ...]  # empty: it was as planned
    left: tuple[str, ...] = ()  # what is not as planned and is left for the operator


async def describe(settings: KafkaSettings, plans: Sequence[TopicPlan]) -> list[TopicState]:
    """Return those of *plans* that the cluster has, by name.

    Raises:
        BusUnavailable: Kafka cannot be reached, or turns us away.
    """
    async with admin_client(settings) as admin:
        states = await _states(admin, [settings.on_broker(plan.name) for plan in plans])
    return sorted(states.values(), key=lambda state: state.name)


async def apply(
    settings: KafkaSettings, plans: Sequence[TopicPlan], *, partitions: int, replication: int
) -> list[TopicResult]:
    """Make the topics of *plans* and bring those that are there up to them.

    Raises:
        CannotApply: There are fewer brokers than replicas, also after a while, or the
            cluster refuses.
        BusUnavailable: Kafka cannot be reached, or turns us away.
    """
    async with admin_client(settings, APPLY_S) as admin:
        brokers = await _brokers(admin, replication)
        if len(brokers) < replication:
            raise CannotApply(
                f"{replication} replicas need as many brokers, and the cluster has "
                f"{len(brokers)}; start the others or ask for --replication {len(brokers)}"
            )
        names = {settings.on_broker(plan.name): plan for plan in plans}
        states = await _states(admin, list(names))
        applied = [
            await _bring_up_to_plan(admin, states[name], plan, partitions, replication)
            if name in states
            else await _create(admin, name, plan, partitions, replication)
            for name, plan in names.items()
        ]
        for broker in brokers:
            await _wait_until_known(admin, broker, list(names))
        return applied


async def _brokers(admin: AIOKafkaAdminClient, wanted: int) -> Sequence[int]:
    """Return the ids of the cluster's brokers: *wanted*, or those there after `BROKERS_S`.

    One that has just started is known to the others some moments after it answers.
    """
    until = time.monotonic() + BROKERS_S
    while True:
        brokers = [each["node_id"] for each in (await admin.describe_cluster())["brokers"]]
        if len(brokers) >= wanted or time.monotonic() > until:
            return brokers
        await asyncio.sleep(POLL_S)


async def _wait_until_known(admin: AIOKafkaAdminClient, broker: int, names: list[str]) -> None:
    """Return when *broker* knows all topics *names*: each learns of new ones by itself."""
    request = MetadataRequest(names)
    while True:
        answer = await admin._send_request(request, broker)  # noqa: SLF001  to one broker
        if not any(topic["error_code"] for topic in answer.to_object()["topics"]):
            return
        await asyncio.sleep(POLL_S)


async def _create(
    admin: AIOKafkaAdminClient, name: str, plan: TopicPlan, partitions: int, replication: int
) -> TopicResult:
    new = NewTopic(name, partitions, replication, topic_configs=dict(plan.configs(replication)))
    answer = await admin.create_topics([new])
    for _, code, *message in answer.topic_errors:
        if code == TOPIC_EXISTS:
            return TopicResult(
                topic=name, done=(), left=("was just made by another: run again",)
            )
        _raise_refused(name, code, message[0] if message else None)
    copies = "1 replica" if replication == 1 else f"{replication} replicas"
    return TopicResult(topic=name, done=(f"created, {partitions} partitions, {copies}",))


async def _bring_up_to_plan(
    admin: AIOKafkaAdminClient,
    state: TopicState,
    plan: TopicPlan,
    partitions: int,
    replication: int,
) -> TopicResult:
    done, left = [], []
    if state.partitions < partitions:
        await admin.create_partitions({state.name: NewPartitions(partitions)})
        done.append(f"partitions {state.partitions} -> {partitions}")
    elif state.partitions > partitions:
        left.append(f"has {state.partitions} partitions, which cannot be taken away")
    if state.replication != replication:
        left.append(
            f"has {state.replication} of {replication} replicas: Kafka's own "
            "kafka-reassign-partitions changes that"
        )
    # Of the replicas there are: one that has to wait for a missing one cannot be written to.
    wanted = plan.configs(state.replication)
    changed = {key: value for key, value in wanted.items() if state.configs.get(key) != value}
    if changed:
        # This request replaces all that is set on the topic: what else there is stays.
        every = {**state.configs, **changed}
        resource = ConfigResource(ConfigResourceType.TOPIC, state.name, every)
        for answer in await admin.alter_configs([resource]):
            for code, message, *_ in answer.resources:
                _raise_refused(state.name, code, message)
        for key, value in changed.items():
            done.append(f"{key} {state.configs.get(key, '(default)')} -> {value}")
    return TopicResult(topic=state.name, done=tuple(done), left=tuple(left))


async def _states(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, TopicState]:
    there: dict[str, list[dict[str, Any]]] = {}
    for topic in await admin.describe_topics(names):
        if topic["error_code"] != UNKNOWN_TOPIC:
            _raise_refused(topic["topic"], topic["error_code"], None)
            there[topic["topic"]] = topic["partitions"]
    configs = await _configs(admin, list(there))
    return {
        name: TopicState(
            name=name,
            partitions=len(partitions),
            replication=min(len(each["replicas"]) for each in partitions),
            configs=configs[name],
        )
        for name, partitions in there.items()
    }


async def _configs(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    found = {}
    for answer in await admin.describe_configs(asked):
        for code, message, _, name, entries in answer.resources:
            _raise_refused(name, code, message)
            # Each entry: name, value, read only, source, ...
            found[name] = {e[0]: e[1] for e in entries if e[3] == OF_THE_TOPIC}
    return found


def _raise_refused(name: str, code: int, message: str | None) -> None:
    if code:
        raise CannotApply(f"{name}: {message or for_code(code).__name__}")


@asynccontextmanager
async def admin_client(
    settings: KafkaSettings, within_s: float | None = None
) -> AsyncIterator[AIOKafkaAdminClient]:
    """Connect to the cluster to change it, all within *within_s* or ``request_timeout_s``.

    Raises:
        BusUnavailable: Kafka cannot be reached, or turns us away.
    """
    await check_available(settings)  # the client does not say why it cannot
    admin = AIOKafkaAdminClient(**client_options(settings))
    where = ", ".join(settings.bootstrap_servers)
    try:
        async with asyncio.timeout(within_s or settings.request_timeout_s):
            await admin.start()
            yield admin
    except (TimeoutError, KafkaConnectionError) as error:
        raise BusUnavailable(f"Kafka at {where} does not answer") from error
    except KafkaError as error:
        why = str(error) or type(error).__name__
        raise BusUnavailable(f"Kafka at {where}: {why}") from error
    finally:
        await admin.close()
