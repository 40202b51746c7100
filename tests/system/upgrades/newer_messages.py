"""The next version as its neighbours hear it: fields and kinds of message that are new.

Every message it publishes has a field more.  Before each work for brand resolution it
publishes one of a kind that only it knows, and before each outcome too.
"""

FIELD = "of_a_newer_version"
KIND = "of-a-newer-kind"

#: What is written at the end of each module.
ADDED = {
    "bus/topics.py": f"""

_encode = encode


def encode(message):
    if not isinstance(message, Work | Outcome):
        return _encode(message)
    return msgspec.json.encode(msgspec.to_builtins(message) | {{"{FIELD}": [1]}})


def of_a_new_kind(message, part):
    return msgspec.json.encode(msgspec.to_builtins(message) | {{part: {{"type": "{KIND}"}}}})
""",
    "pipeline/relay.py": """

from cs.bus.topics import of_a_new_kind

_offer_known = _offer


async def _offer(work, headers, bus, deadline_clock):
    if work.stage == "brand-resolution":
        value = of_a_new_kind(work, "input")
        await bus.publish(STAGE_TOPICS[work.stage], key=work.lookup.encode(), value=value)
    await _offer_known(work, headers, bus, deadline_clock)
""",
    "pipeline/runner.py": """

from cs.bus.topics import of_a_new_kind

_report_known = Runner._report


async def _report_next(self, work, given, finding):
    outcome = Outcome(
        lookup=work.lookup,
        stage=work.stage,
        item=work.item,
        attempt=1,
        finding=finding,
        receipt=work.receipt,
    )
    value = of_a_new_kind(outcome, "finding")
    await self._bus.publish(OUTCOMES, key=work.lookup.encode(), value=value)
    return await _report_known(self, work, given, finding)


Runner._report = _report_next
""",
}
