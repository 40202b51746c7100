"""Which role needs what on the brokers, and giving it: users of their own, and no more.

A worker that reads the internet is the likeliest to be taken over.  With a user of its own it
can answer its stage's work and nothing else: issue none, and read no other stage's.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from aiokafka.errors import for_code  # type: ignore[import-untyped,unused-ignore]
from aiokafka.protocol.api import (  # type: ignore[import-untyped,unused-ignore]
    Request,
    RequestStruct,
    Response,
)
from aiokafka.protocol.types import (  # type: ignore[import-untyped,unused-ignore]
    Array,
    Int8,
    Int16,
    Int32,
    Schema,
    String,
)

from cs.bus.dead_letters import GROUP as DEAD_LETTERS_GROUP
from cs.bus.kafka.settings import CannotApply, KafkaSettings
from cs.bus.kafka.topics import admin_client
from cs.bus.topics import DEAD_LETTERS, EVENTS, OUTCOMES, STAGE_TOPICS, TOPICS

#: As Kafka calls it.  Read and Write include Describe (Kafka's documentation, "Operations
#: and resources on protocols"); who may write to a topic may be an idempotent producer.
Operation = Literal[
    "Read", "Write", "Create", "Describe", "Alter", "DescribeConfigs", "AlterConfigs"
]
#: The group of process managers; that of a stage has the stage's name.
PROCESS_MANAGER = "process-manager"

#: Error codes of the protocol.
NOT_ALLOWED, NO_AUTHORIZER = 31, 54

#: As numbers of the protocol: ResourceType and AclOperation of Kafka's admin API.
_RESOURCES = {"topic": 2, "group": 3}
_OPERATIONS = {
    "Read": 3,
    "Write": 4,
    "Create": 5,
    "Alter": 7,
    "Describe": 8,
    "DescribeConfigs": 10,
    "AlterConfigs": 11,
}
_LITERAL, _ALLOW = 3, 3

_Creation = tuple[int, str, int, str, str, int, int]


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of one user on one topic or group."""

    resource: Literal["topic", "group"]
    name: str  # on the broker, the operator's prefix included
    operations: tuple[Operation, ...]


def access_of_roles(prefix: str) -> Mapping[str, Sequence[Access]]:
    """Return what each user of Kafka needs, by the role's name.

    Roles that are not named need nothing.  ``topics`` is ``cs topics apply``; ``feed-reader``
    stands for another team's, which adds Read on its own group.

    Args:
        prefix: Before every topic and group.
    """

    def may(operation: Operation, *topics: str) -> list[Access]:
        return [
            Access(resource="topic", name=prefix + name, operations=(operation,))
            for name in topics
        ]

    def joins(group: str, topic: str) -> list[Access]:
        member = Access(resource="group", name=prefix + group, operations=("Read",))
        return [*may("Read", topic), member]

    every: tuple[Operation, ...] = (
        "Create",
        "Describe",
        "Alter",
        "DescribeConfigs",
        "AlterConfigs",
    )
    return {
        "relay": may("Write", *STAGE_TOPICS.values(), EVENTS),
        PROCESS_MANAGER: [*joins(PROCESS_MANAGER, OUTCOMES), *may("Write", DEAD_LETTERS)],
        **{
            f"stage-{name}": [*joins(name, topic), *may("Write", OUTCOMES, DEAD_LETTERS)]
            for name, topic in STAGE_TOPICS.items()
        },
        "console": [
            *joins(DEAD_LETTERS_GROUP, DEAD_LETTERS),
            *may("Write", OUTCOMES, *STAGE_TOPICS.values()),
        ],
        "topics": [
            Access(resource="topic", name=prefix + plan.name, operations=every)
            for plan in TOPICS
        ],
        "feed-reader": may("Read", EVENTS),
    }


def kafka_acls(user: str, access: Access, bootstrap: str) -> str:
    """Return the command of Kafka's own tool that gives *user* this *access*.

    >>> kafka_acls("r", Access(resource="topic", name="t", operations=("Read",)), "k")
    'kafka-acls --bootstrap-server k --add --allow-principal User:r --operation Read --topic t'
    """
    operations = " ".join(f"--operation {each}" for each in access.operations)
    return (
        f"kafka-acls --bootstrap-server {bootstrap} --add --allow-principal User:{user} "
        f"{operations} --{access.resource} {access.name}"
    )


class _CreateAclsResponse(Response):  # type: ignore[misc,unused-ignore]
    API_KEY = 30
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("results", Array(("error_code", Int16), ("error_message", String("utf-8")))),
    )


class _CreateAclsV1(RequestStruct):  # type: ignore[misc,unused-ignore]
    """Kafka's protocol guide, "CreateAcls Request (Version: 1)"; aiokafka has none."""

    API_KEY = 30
    API_VERSION = 1
    RESPONSE_TYPE = _CreateAclsResponse
    SCHEMA = Schema(
        (
            "creations",
            Array(
                ("resource_type", Int8),
                ("resource_name", String("utf-8")),
                ("resource_pattern_type", Int8),
                ("principal", String("utf-8")),
                ("host", String("utf-8")),
                ("operation", Int8),
                ("permission_type", Int8),
            ),
        )
    )


class _CreateAcls(Request[_CreateAclsV1]):  # type: ignore[misc,unused-ignore]
    API_KEY = 30

    def __init__(self, creations: Sequence[_Creation]) -> None:
        self._creations = creations

    def build(self, request_struct_class: type[_CreateAclsV1]) -> _CreateAclsV1:
        return request_struct_class(self._creations)


async def grant(settings: KafkaSettings, users: Mapping[str, Sequence[Access]]) -> None:
    """Give *users*, by name, what they need; what they have already stays.

    Brokers take rights of users that they do not know (yet).

    Raises:
        CannotApply: The brokers do not check users, or our own user may not give rights.
        BusUnavailable: Kafka cannot be reached, or turns us away.
    """
    creations = [
        (
            *(_RESOURCES[access.resource], access.name, _LITERAL, f"User:{user}", "*"),
            *(_OPERATIONS[operation], _ALLOW),
        )
        for user, accesses in users.items()
        for access in accesses
        for operation in access.operations
    ]
    async with admin_client(settings) as admin:
        answer = await admin._send_request(_CreateAcls(creations))  # noqa: SLF001
    for code, message in answer.results:
        if code == NOT_ALLOWED:
            raise CannotApply(
                f"the user {settings.username!r} may not give rights: it needs Alter on the "
                "cluster, or to be one of super.users"
            )
        if code == NO_AUTHORIZER:
            raise CannotApply("these brokers check no rights: set authorizer.class.name there")
        if code:
            raise CannotApply(message or for_code(code).__name__)
