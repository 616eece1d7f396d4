"""Forgetting by request in a running assistant: through its own forgetting, on its event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import ForgettingBegan, ForgettingDone, ForgettingUndone
from assistant.intents.command import Command, CommandKind
from assistant.ipc import client
from assistant.ipc.server import RequestServer
from assistant.memory import MemoryService, QueryEncoder, store_location
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.executor import ForgettingAccess
from assistant.memory.forgetting.receipts import PurgeResult
from assistant.memory.records.hidden import HiddenItems
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import Row, talked
from tests.support.forgetting import Bench, bench, kept
from tests.support.remains import found, marked

DOG = "My dog is called Max."
CAT = "My cat is called Kim."


def no_encoder() -> QueryEncoder:
    raise AssertionError("nobody needs vectors")


class Session:
    """A running assistant and what reaches it."""

    def __init__(self, here: Bench, folder: Path) -> None:
        self.here = here
        loop = asyncio.get_running_loop()
        settings = Settings.model_validate(
            {"general": {"user": "ada"}, "forget": {"grace_s": 0.05}}
        )
        location = store_location(Home(folder), settings)
        memory = MemoryService(location, settings, here.transcript, no_encoder, print)
        memory.session_user = here.memory
        memory.session_forgetting = ForgettingAccess(
            here.forgetting, loop, lambda: here.window.exchanges
        )
        self._folder = folder / "door"
        self.door = RequestServer(self._folder, memory.answer)

    async def ask(self, act: str, user: str = "ada", **more: Any) -> list[Row]:
        request = {"act": act, "user": user, **more}

        def asked() -> list[Row]:
            answered = client.send_request(self._folder, request)
            assert answered is not None
            return list(answered)

        return await asyncio.to_thread(asked)


@asynccontextmanager
async def session(folder: Path, talk: Conversation) -> AsyncIterator[Session]:
    async with bench(folder, talk) as here:
        running = Session(here, folder)
        try:
            yield running
        finally:
            await asyncio.to_thread(running.door.close)


@pytest.fixture
def talk() -> Conversation:
    return Conversation.begin("ada")


async def test_it_leaves_window_and_recall_and_comes_back_by_request_or_voice(
    tmp_path: Path, talk: Conversation
) -> None:
    async with session(tmp_path, talk) as running:
        here = running.here
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        shown = await running.ask("forget", about="dog", preview=True)
        assert [each.user_text for each in talk.exchanges] == [DOG, CAT]
        assert (shown[-1]["memories"], shown[-1]["exchanges"]) == (2, 1)

        (row,) = await running.ask("forget", about="dog", seen=shown[-1]["seen"])
        assert row["attended"]
        assert row["exchanges"] == [dog.id]
        assert [each.user_text for each in talk.exchanges] == [CAT]
        assert await here.recalled("What is my dog called?") == {CAT}
        assert here.transcript.hidden("ada")[0].id == row["id"]
        assert [each["id"] for each in (await running.ask("pending"))[:-1]] == [row["id"]]
        await running.ask("undo", id=row["id"][:8])
        assert [each.user_text for each in talk.exchanges] == [DOG, CAT]

        (again,) = await running.ask("forget", ids=[dog.id])
        assert await here.obeying.carry_out(Command(CommandKind.UNDO)) == (
            "Brought back: your dog is called Max."
        )
        assert DOG in await here.recalled("What is my dog called?")
        with pytest.raises(client.RemoteError, match="nothing left to bring back"):
            await running.ask("undo")
    told = [each for each in here.events if isinstance(each, ForgettingBegan | ForgettingUndone)]
    assert [each.id for each in told] == [row["id"]] * 2 + [again["id"]] * 2


async def test_when_it_is_due_it_is_purged_and_the_faces_are_shown_what_was_searched(
    tmp_path: Path, talk: Conversation
) -> None:
    async with session(tmp_path, talk) as running:
        here = running.here
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        await running.ask("forget", last=True)
        assert [each.user_text for each in talk.exchanges] == [DOG]
        await running.ask("undo")
        (row,) = await running.ask("forget", ids=[dog.id])
        here.pass_time(60)
        assert await here.forgetting.purge_due()
        (done,) = [each for each in here.events if isinstance(each, ForgettingDone)]
        assert (done.id, done.clean) == (row["id"], True)
        kept_ = receipts.read(tmp_path)[-1]
        assert [each.name for each in done.searched] == [s["name"] for s in kept_["searched"]]
        assert done.files == sum(each.files for each in done.searched) == kept_["files"]
        assert done.bytes == sum(each.bytes for each in done.searched) == kept_["bytes"]
        assert list(done.unprovable) == kept_["unprovable"]
        with pytest.raises(client.RemoteError, match="nothing left"):
            await running.ask("undo")
    assert kept(tmp_path) == ({CAT}, {CAT})
    assert found(tmp_path, {DOG}, []) == []


async def test_now_is_now_in_the_running_conversation_too(
    tmp_path: Path, talk: Conversation
) -> None:
    async with session(tmp_path, talk) as running:
        here = running.here
        dog, _ = here.tell(DOG), here.tell(CAT)
        await here.memory.settled()
        purging = asyncio.create_task(here.forgetting.run())
        (row,) = await running.ask("forget", about="dog", now=True)
        purging.cancel()
        assert (row["event"], row["exchanges"]) == ("forgotten", [dog.id])
        assert row["receipt"] == receipts.read(tmp_path)[-1]
        assert [each.user_text for each in talk.exchanges] == [CAT]
        assert here.window.dropped == [dog.id]
        assert here.forgetting.hidden == ()
        (done,) = [each for each in here.events if isinstance(each, ForgettingDone)]
        assert done.files == row["receipt"]["files"]
        assert len(receipts.read(tmp_path)) == 1
    assert kept(tmp_path) == ({CAT}, {CAT})
    assert marked(tmp_path) == {dog.id}


async def test_what_can_t_be_removed_now_stays_hidden_and_is_tried_again(
    tmp_path: Path, talk: Conversation
) -> None:
    def broken(_: HiddenItems) -> PurgeResult:
        raise StoreError("The disk is full.")

    async with session(tmp_path, talk) as running:
        here = running.here
        here.tell(DOG)
        await here.memory.settled()
        real, here.forgetting._purge = here.forgetting._purge, broken
        with pytest.raises(client.RemoteError, match="The disk is full"):
            await running.ask("forget", about="dog", now=True)
        assert await here.recalled("What is my dog called?") == set()
        assert (await running.ask("pending"))[0]["left_s"] == 0
        here.forgetting._purge = real
        assert await here.forgetting.purge_due()
        assert (await running.ask("pending"))[-1]["count"] == 0
    assert kept(tmp_path) == (set(), set())


async def test_what_is_said_and_not_kept_goes_too(tmp_path: Path, talk: Conversation) -> None:
    async with session(tmp_path, talk) as running:
        here = running.here
        here.tell(CAT)
        talk.append_user(2, DOG, here.clock[0])
        unkept = talk.complete(2, "I see.", ended=here.clock[0])
        talk.append_user(3, "What is being answered?", here.clock[0])
        shown = await running.ask("forget", about="dog", preview=True)
        assert [row["user"] for row in shown if row["event"] == "exchange"] == [DOG]
        assert not shown[0]["remembered"]
        (row,) = await running.ask("forget", everything=True)
        assert unkept.id in row["exchanges"]
        assert [each.user_text for each in talk.exchanges] == ["What is being answered?"]
        talk.complete(3, "Nothing.")


async def test_another_user_s_is_hidden_by_their_own_notes(
    tmp_path: Path, talk: Conversation
) -> None:
    told = talked(Home(tmp_path), "kim")
    async with session(tmp_path, talk) as running:
        here = running.here
        here.tell(DOG)
        await here.memory.settled()
        (row,) = await running.ask("forget", "kim", last=True)
        assert (row["attended"], len(row["exchanges"])) == (False, 1)
        assert set(row["exchanges"]) < set(told.values())
        assert here.forgetting.hidden == ()
        assert (await running.ask("pending"))[-1]["count"] == 0
        assert [each.user_text for each in talk.exchanges] == [DOG]
        await asyncio.sleep(0.06)
        assert (await running.ask("pending"))[-1]["count"] == 0
        assert marked(tmp_path) == set(row["exchanges"])
        assert here.transcript.hiding() == []
        with pytest.raises(client.RemoteError, match="nothing left"):
            await running.ask("undo", "kim")
        assert DOG in await here.recalled("What is my dog called?")


async def test_what_another_process_took_back_is_not_purged(
    tmp_path: Path, talk: Conversation
) -> None:
    async with bench(tmp_path, talk) as here:
        dog = here.tell(DOG)
        await here.memory.settled()
        hidden = await here.forgetting.hide([dog.id], ())
        here.transcript.unhide("ada", hidden.id)
        here.pass_time(60)
        assert await here.forgetting.purge_due()
        assert here.forgetting.hidden == ()
        assert DOG in await here.recalled("What is my dog called?")
        assert not any(isinstance(each, ForgettingDone) for each in here.events)
    assert kept(tmp_path) == ({DOG}, {DOG})


async def test_while_the_assistant_ends_it_says_so(tmp_path: Path, talk: Conversation) -> None:
    ended = asyncio.new_event_loop()
    ended.close()
    async with bench(tmp_path, talk) as here:
        with pytest.raises(StoreError, match="shutting down"):
            ForgettingAccess(here.forgetting, ended).run(here.forgetting.pending())
