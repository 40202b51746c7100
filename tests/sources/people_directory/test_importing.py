from datetime import date
from pathlib import Path

import pytest

from cs.operations.erasure import DirectoryPrints
from cs.sources.people_directory.importing import PEOPLE, Importing
from cs.sources.tables.table_file import TableFile
from harness.memory_directory import MemoryDirectory
from harness.memory_keys import MemoryKeyStore

TODAY, OLDEST = date(2026, 11, 23), date(2024, 11, 10)
ADA = "profile:https://www.linkedin.com/in/ada"
FILE = """name,title,company,linkedin,email
Ada Kern,Head of Social,Acme,linkedin.com/in/ada,ada@acme.example
Ben Holt,CMO,Acme,linkedin.com/in/ben,
"""


async def test_a_person_erased_while_a_batch_is_written_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(FILE)
    keys = MemoryKeyStore()
    directory, prints = MemoryDirectory(b"k" * 32), DirectoryPrints(keys)
    put = directory.put

    async def erased_meanwhile(*args: object, **options: object) -> object:
        done = await put(*args, **options)  # type: ignore[arg-type]
        ada = await directory.get(ADA)
        assert ada is not None
        await keys.suppress(prints.of(ada))
        return done

    monkeypatch.setattr(directory, "put", erased_meanwhile)

    work = Importing(directory, prints, today=TODAY, oldest=OLDEST)
    await work.run(TableFile(file, PEOPLE))

    assert (await directory.status()).people == 1
    assert await directory.get(ADA) is None
