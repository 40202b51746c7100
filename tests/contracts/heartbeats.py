"""What every implementation of `cs.pipeline.heartbeats.Heartbeats` must do."""

from cs.pipeline.heartbeats import SILENCE_S, Heartbeats


class HeartbeatsContract:
    """Inherit, and give ``heartbeats`` as a fixture."""

    async def test_work_without_a_heartbeat_is_silent(self, heartbeats: Heartbeats) -> None:
        assert await heartbeats.silent_for("brand-a.1", "verification", "a.test", 1) is None

    async def test_work_is_silent_since_its_last_heartbeat(
        self, heartbeats: Heartbeats
    ) -> None:
        await heartbeats.record("brand-a.1", "verification", "a.test", 1)

        silent_for = await heartbeats.silent_for("brand-a.1", "verification", "a.test", 1)

        assert silent_for is not None
        assert 0 <= silent_for < SILENCE_S

    async def test_a_heartbeat_is_of_one_attempt_at_one_piece_of_work(
        self, heartbeats: Heartbeats
    ) -> None:
        await heartbeats.record("brand-a.1", "verification", "a.test", 1)

        assert await heartbeats.silent_for("brand-a.1", "verification", "a.test", 2) is None
        assert await heartbeats.silent_for("brand-a.1", "verification", "b.test", 1) is None
        assert await heartbeats.silent_for("brand-a.1", "ranking", "a.test", 1) is None
        assert await heartbeats.silent_for("brand-a.2", "verification", "a.test", 1) is None
