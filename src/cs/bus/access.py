"""Which role needs what on the brokers: users of their own, and nothing more than they need.

A worker that reads the internet is the likeliest to be taken over.  With a user of its own it
can answer its stage's work and nothing else: issue none, and read nobody else's.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from cs.bus.topics import DEAD_LETTERS, EVENTS, OUTCOMES, STAGE_TOPICS, TOPICS

#: As Kafka calls it.  Read and Write include Describe (Kafka's documentation, "Operations
#: and resources on protocols"); who may write to a topic may be an idempotent producer.
Operation = Literal[
    "Read", "Write", "Create", "Describe", "Alter", "DescribeConfigs", "AlterConfigs"
]
#: The group of process managers; that of a stage has the stage's name.
PROCESS_MANAGER = "process-manager"


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """What one user may do with one topic or group."""

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
