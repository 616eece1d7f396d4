"""Requests to forget that are sent to a running assistant, which has an open conversation."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import StoreError
from assistant.events import ForgettingBegan, ForgettingDone, ForgettingUndone
from assistant.intents.command import Command, CommandKind
from assistant.ipc import client
from assistant.ipc.server import RequestServer
from assistant.memory import MemoryService, QueryEncoder, store_location
from assistant.memory.forgetting import executor, receipts
from assistant.memory.forgetting.receipts import PurgeResult
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import Row, talked
from tests.support.forgetting import Bench, bench
from tests.support.remains import marked

DOG = "My dog is called Max."
CAT = "My cat is called Kim."
WHAT = "What is my dog called?"


def no_encoder() -> QueryEncoder:
    raise AssertionError("no test here needs vectors")


class Session:
    """A running assistant, and requests to it."""

    def __init__(self, here: Bench, folder: Path) -> None:
        self.here = here
        settings = Settings.model_validate(
            {"general": {"user": "ada"}, "forget": {"grace_s": 0.05}}
        )
        location = store_location(Home(folder), settings)
        memory = MemoryService(location, settings, here.transcript, no_encoder, print)
        memory.session_user = here.memory
        memory.session_forgetting = here.forgetting
        self._folder = folder / "door"
        self.door = RequestServer(self._folder, memory.answer)

    def window(self) -> list[str]:
        return [each.user_text for each in self.here.window.talk.exchanges]

    async def ask(self, act: str, user: str = "ada", **more: Any) -> list[Row]:
        request = {"act": act, "user": user, **more}

        def asked() -> list[Row]:
            answered = client.send_request(self._folder, request)
            assert answered is not None
            return list(answered)

        return await asyncio.to_thread(asked)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Session]:
    async with bench(tmp_path) as here:
        session = Session(here, tmp_path)
        try:
            yield session
        finally:
            await asyncio.to_thread(session.door.close)


async def test_a_forgotten_exchange_is_neither_prompted_nor_recalled_and_can_be_restored(
    running: Session,
) -> None:
    here = running.here
    dog, _ = await here.tell_all(DOG, CAT)
    shown = await running.ask("forget", about="dog", preview=True)
    assert running.window() == [DOG, CAT]
    assert (shown[-1]["memories"], shown[-1]["exchanges"]) == (2, 1)

    (row,) = await running.ask("forget", about="dog", seen=shown[-1]["seen"])
    assert row["attended"]
    assert row["exchanges"] == [dog.id]
    assert running.window() == [CAT]
    assert await here.recalled(WHAT) == {CAT}
    assert here.transcript.hidden("ada")[0].id == row["id"]
    assert [each["id"] for each in (await running.ask("pending"))[:-1]] == [row["id"]]
    await running.ask("undo", id=row["id"][:8])
    assert running.window() == [DOG, CAT]

    (last,) = await running.ask("forget", last=True)
    assert running.window() == [DOG]
    await running.ask("undo")
    (again,) = await running.ask("forget", ids=[dog.id])
    assert await here.obey(Command(CommandKind.UNDO)) == ("Brought back: your dog is called Max.")
    assert DOG in await here.recalled(WHAT)
    with pytest.raises(client.RemoteError, match="nothing left to bring back"):
        await running.ask("undo")
    told = [each for each in here.events if isinstance(each, ForgettingBegan | ForgettingUndone)]
    ids = [row["id"], last["id"], again["id"]]
    assert [each.id for each in told] == [key for key in ids for _ in range(2)]


async def test_forgetting_for_good_also_takes_effect_in_the_running_conversation(
    tmp_path: Path, running: Session
) -> None:
    here = running.here
    dog, _ = await here.tell_all(DOG, CAT)
    purging = asyncio.create_task(here.forgetting.run())
    (row,) = await running.ask("forget", about="dog", now=True)
    purging.cancel()
    assert (row["event"], row["exchanges"]) == ("forgotten", [dog.id])
    assert [row["receipt"]] == receipts.read(tmp_path)
    assert running.window() == [CAT]
    assert here.window.dropped == [dog.id]
    assert here.forgetting.hidden == ()
    (done,) = [each for each in here.events if isinstance(each, ForgettingDone)]
    assert done.files == row["receipt"]["files"]
    assert here.kept() == ({CAT}, {CAT})
    assert marked(tmp_path) == {dog.id}


async def test_an_exchange_whose_deletion_fails_stays_hidden_until_a_retry(
    running: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> PurgeResult:
        raise StoreError("The disk is full.")

    here = running.here
    await here.tell_all(DOG)
    with monkeypatch.context() as broken:
        broken.setattr(executor, "purge", full)
        with pytest.raises(client.RemoteError, match="The disk is full"):
            await running.ask("forget", about="dog", now=True)
        assert not await here.forgetting.purge_due()
    assert await here.recalled(WHAT) == set()
    assert (await running.ask("pending"))[0]["left_s"] == 0
    assert await here.forgetting.purge_due()
    assert (await running.ask("pending"))[-1]["count"] == 0
    assert here.kept() == (set(), set())


async def test_exchanges_that_are_not_stored_are_forgotten_too(running: Session) -> None:
    here, talk = running.here, running.here.window.talk
    here.tell(CAT)
    talk.append_user(2, DOG, here.clock[0])
    unkept = talk.complete(2, "I see.", ended=here.clock[0])
    talk.append_user(3, "What is being answered?", here.clock[0])
    shown = await running.ask("forget", about="dog", preview=True)
    assert [row["user"] for row in shown if row["event"] == "exchange"] == [DOG]
    assert not shown[0]["remembered"]
    (row,) = await running.ask("forget", everything=True)
    assert unkept.id in row["exchanges"]
    assert running.window() == ["What is being answered?"]
    talk.complete(3, "Nothing.")


async def test_a_request_of_another_user_does_not_affect_the_session(
    tmp_path: Path, running: Session
) -> None:
    told, here = talked(Home(tmp_path), "kim"), running.here
    await here.tell_all(DOG)
    (row,) = await running.ask("forget", "kim", last=True)
    assert (row["attended"], len(row["exchanges"])) == (False, 1)
    assert set(row["exchanges"]) < set(told.values())
    assert here.forgetting.hidden == ()
    assert (await running.ask("pending"))[-1]["count"] == 0
    assert running.window() == [DOG]
    await asyncio.sleep(0.06)
    assert (await running.ask("pending"))[-1]["count"] == 0
    assert marked(tmp_path) == set(row["exchanges"])
    assert here.transcript.hiding() == []
    with pytest.raises(client.RemoteError, match="nothing left"):
        await running.ask("undo", "kim")
    assert DOG in await here.recalled(WHAT)
