"""What every implementation of `cs.pipeline.heartbeats.Signs` must do."""

from cs.pipeline.heartbeats import SILENCE_S, Signs


class SignsContract:
    """Inherit, and give ``signs`` as a fixture."""

    async def test_what_was_never_heard_of_is_silent(self, signs: Signs) -> None:
        assert await signs.silent_for("brand-a.1", "verification", "a.test", 1) is None

    async def test_what_is_heard_of_is_silent_since(self, signs: Signs) -> None:
        await signs.heard("brand-a.1", "verification", "a.test", 1)

        silent_for = await signs.silent_for("brand-a.1", "verification", "a.test", 1)

        assert silent_for is not None
        assert 0 <= silent_for < SILENCE_S

    async def test_a_sign_is_of_one_attempt_at_one_piece_of_work(self, signs: Signs) -> None:
        await signs.heard("brand-a.1", "verification", "a.test", 1)

        assert await signs.silent_for("brand-a.1", "verification", "a.test", 2) is None
        assert await signs.silent_for("brand-a.1", "verification", "b.test", 1) is None
        assert await signs.silent_for("brand-a.1", "ranking", "a.test", 1) is None
        assert await signs.silent_for("brand-a.2", "verification", "a.test", 1) is None
