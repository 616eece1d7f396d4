"""Two machines share an encrypted object store, and have the same exchange in their transcripts."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.language.speakers import USER
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting.purge import purge_due_at_start
from assistant.memory.forgetting.verify import OTHERS
from assistant.memory.store import write_queue, writer_lock
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from tests.support.desks import forget_now
from tests.support.forgetting import START
from tests.support.memories import stored
from tests.support.object_store import endpoint
from tests.support.patience import LEISURE_S, PATIENCE_S
from tests.support.user_memory import user_memory

pytestmark = pytest.mark.real

URI = "s3://memories/shared"
SECRET = "My dog Max barks at every postman."
KEPT = "On Fridays I play the cello with dentists."


def opener(server: ThreadedMotoServer) -> "partial[MemoryTable]":
    options = {"endpoint": endpoint(server), "allow_http": "true", "region": "us-east-1"}
    options |= {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    key = MasterKey(b"k" * 32)
    return partial(MemoryTable.open, URI, key=key, storage_options=options, or_read=True)


@asynccontextmanager
async def machine(
    folder: Path, open_table: "partial[MemoryTable]", gone: list[str]
) -> AsyncIterator[tuple[UserMemory, Transcript]]:
    def on_gone(_user: str, exchanges: Collection[str]) -> None:
        gone.extend(exchanges)

    with closing(Transcript.open(folder / "transcript.sqlite3")) as transcript:
        memory = user_memory(open_table)
        await memory.load(transcript, partial(purge_due_at_start, transcript, on_gone=on_gone))
        try:
            yield memory, transcript
        finally:
            await memory.close()


async def recalled(memory: UserMemory) -> set[str]:
    found = await memory.recall("What of the dog Max, and of the cello?", LEISURE_S)
    return {each.text for each in found.memories if each.speaker == USER}


async def test_a_machine_that_only_reads_forgets_too_and_restores_nothing_when_it_writes(
    tmp_path: Path,
    server: ThreadedMotoServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_lock, "LEASE_S", 3.0)
    monkeypatch.setattr(write_queue, "FIRST_RETRY_S", 0.2)
    monkeypatch.setattr(write_queue, "LONGEST_RETRY_S", 0.2)
    talk, gone = Conversation.begin("ada"), list[str]()
    (tmp_path / "a").mkdir()
    with closing(Transcript.open(tmp_path / "a" / "transcript.sqlite3")) as transcript:
        for turn, text in enumerate((SECRET, KEPT), start=1):
            talk.append_user(turn, text, START)
            transcript.store(talk, talk.complete(turn, "I see.", ended=START))
    first = talk.exchanges[0].id
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    open_table = opener(server)
    async with machine(tmp_path / "b", open_table, gone):
        """Both exchanges are written to the store."""
    async with (
        machine(tmp_path / "a", open_table, []) as (here, told),
        machine(tmp_path / "b", open_table, gone) as (there, held),
    ):
        assert there.table.refused is not None
        assert await recalled(there) == {SECRET, KEPT}
        desk = MemoryAdmin("ada", here.table, lambda: told, lambda: here, memory=here)
        forgotten = await asyncio.to_thread(forget_now, desk, [f"{first}-{USER}"])
        assert forgotten.receipt.clean
        assert OTHERS in forgotten.receipt.unprovable
        async with asyncio.timeout(PATIENCE_S):
            while await recalled(there) != {KEPT}:
                await asyncio.sleep(0.05)
        assert gone == [first]
        assert held.exchange_ids("ada") == {talk.exchanges[1].id}
        assert not there.writable.is_set(), "the second machine forgot without writing to the store"
        await here.close()
        async with asyncio.timeout(PATIENCE_S):
            await there.writable.wait()
        await asyncio.to_thread(there.rebuild, held)
        assert await recalled(there) == {KEPT}
        assert {each.text for each in stored(there.table)} == {KEPT, "I see."}
        assert gone == [first]
