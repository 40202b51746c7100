"""Views made anew in a database, beside those that are read from it."""

from collections.abc import AsyncIterator, Sequence

import pytest

from contracts.view_replay import HARM, Place, ViewReplayContract
from cs.postgres.pool import open_pool
from cs.projections.anew import NotReplayable
from cs.projections.catalogue import projections
from cs.projections.generation import TableNames
from cs.projections.postgres.anew import PostgresAnewViews
from cs.projections.postgres.views import PostgresViews


class TestAnewInADatabase(ViewReplayContract):
    @pytest.fixture
    async def place(self, every_database: str) -> AsyncIterator[Place]:
        names = TableNames(projections())
        stored = {name.removeprefix(f"{names.prefix}_"): name for name in names.tables}
        async with open_pool(every_database, role="test") as pool:

            async def execute(statement: str) -> None:
                said = statement.format(**stored, blob="as_blob", text="as_text")
                assert await pool.execute(said) not in {"UPDATE 0", "DELETE 0", "INSERT 0 0"}

            async def tables() -> Sequence[str]:
                found = await pool.fetch(
                    "SELECT relname::text FROM pg_class WHERE relname LIKE 'view%' "
                    "AND relkind = 'r' UNION SELECT generation FROM view_sets ORDER BY 1"
                )
                return [name for (name,) in found]

            made: list[PostgresAnewViews] = []

            def make() -> PostgresAnewViews:
                made.append(PostgresAnewViews(pool, projections(), f"{len(made)}"))
                return made[-1]

            await pool.execute(_FUNCTIONS)
            running = PostgresViews(pool, projections())
            place = Place(running, make, execute, tables)
            await place.fill()
            yield place
            for each in made:
                await each.close()
            await running.close()

    async def test_rights_that_new_tables_would_not_have_are_not_lost(
        self, place: Place
    ) -> None:
        await place.execute(HARM["changed"][0])
        await place.execute("GRANT SELECT ON {usage} TO PUBLIC")
        tables = await place.tables()

        with pytest.raises(NotReplayable, match="or have grants"):
            await place.run()

        assert (await place.run(switch=False)).different == {"usage": 1}
        assert await place.tables() == tables


_FUNCTIONS = """
CREATE FUNCTION as_blob(said text) RETURNS bytea LANGUAGE sql AS $$
    SELECT convert_to(said, 'UTF8')
$$;
CREATE FUNCTION as_text(said bytea) RETURNS text LANGUAGE sql AS $$
    SELECT convert_from(said, 'UTF8')
$$;
"""
