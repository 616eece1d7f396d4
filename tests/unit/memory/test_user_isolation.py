"""Every access to a user's words names the user."""

import inspect
from pathlib import Path

import pytest

from assistant.errors import StoreError
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from tests.support.memories import memory
from tests.support.user_memory import user_index

NAMES_NO_USER = {
    MemoryTable: {
        "open",
        "close",
        "distrust",
        "compact",
        "wants_compaction",
        "layout",
        "version",
        "refused",
        *("encoders", "add_encoder", "drop_encoder"),
        "rewrite",  # all rows, into the same table
        "versions",  # for the proof that nothing is left
        "users",  # only their names
        *("add", "update", "put"),  # each memory names its user
    },
    Transcript: {
        "open",
        "in_ram",
        "close",
        "pages",
        "rewrite",  # all rows, into the same file
        *("reading", "writing"),  # for the modules that own tables of the file
        "texts",  # for the proof that nothing is left
        "hiding",  # only ids
        "hide",  # hidden items name their user
        *("store", "store_summary"),  # the conversation names its user
    },
}


@pytest.mark.parametrize("kind", NAMES_NO_USER)
def test_every_method_that_reads_or_changes_data_names_the_user(kind: type) -> None:
    public = {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}
    assert NAMES_NO_USER[kind] <= public, "every exception exists"
    for name in public - NAMES_NO_USER[kind]:
        first = list(inspect.signature(getattr(kind, name)).parameters)[1]
        assert first in ("user", "user_id"), name


def test_an_index_refuses_other_users_rows(tmp_path: Path) -> None:
    table = MemoryTable.open(str(tmp_path / "memories"))
    table.add([memory("I am Bob.", user="bob")])
    index = user_index(8)
    with pytest.raises(StoreError, match="another user"):
        index.load(table.scan("bob"), None)
    assert len(index) == 0
    table.close()
