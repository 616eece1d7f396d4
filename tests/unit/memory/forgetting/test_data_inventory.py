"""All places that hold a person's words are known: no file of a home is unlisted, and no text of a
forgotten memory stays in RAM."""

import asyncio
import gc
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial

import pytest

from assistant.context.conversation import Conversation
from assistant.encryption.conversion import convert
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.encryption.vault import open_vault
from assistant.events import Latency, TurnEnded
from assistant.ipc.server import RequestServer
from assistant.memory import HomeStores, open_memory
from assistant.memory.forgetting.data_inventory import files
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store import repair as place_module
from assistant.memory.store.location import store_location
from assistant.memory.turn_recall import Archive
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice.latency import LatencyLog
from tests.support import homes
from tests.support.desks import in_session
from tests.support.encoders import HashingEncoder, OtherHashing
from ui.commands import main
from ui.process import logs

SAID = "My dog Max loves to fetch sticks."
AT_ONCE = 10_000
"""Objects whose referents are listed at once."""
PLAIN = (tuple, dict)


def unclaimed(home: Home) -> list[str]:
    return [str(path.relative_to(home.root)) for path, owner in files(home) if owner is None]


def names(home: Home) -> set[str]:
    return {owner for _, owner in files(home) if owner is not None}


def test_an_unlisted_file_is_detected(home: Home) -> None:
    data = home.memories / "memories.lance" / "data"
    data.mkdir(parents=True)
    (data / "a.lance").touch()
    (home.memories / "notes.txt").touch()
    (home.root / "transcript.sqlite3.copy").touch()
    assert unclaimed(home) == ["memories/notes.txt", "transcript.sqlite3.copy"]


def test_a_running_assistant_creates_no_unlisted_files(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LOG_BYTES", 200)
    settings = Settings()
    assert main.main(["config", "set", "general.user", "me"]) == 0
    with ExitStack() as stack:
        stack.enter_context(logs.logs_in(home))
        stack.enter_context(logs.redirected_output(home))
        vault = stack.enter_context(closing(open_vault(home, settings)))
        encoder = partial(QueryEncoder, HashingEncoder())
        served = stack.enter_context(open_memory(home, settings, vault.key, encoder, print))
        table, transcript = served.table, served.transcript
        assert store_location(home, settings, vault.key).marker.exists()
        memory = in_session(served)
        stack.enter_context(closing(RequestServer(home.door, served.answer)))
        talk = Conversation.begin("me")
        talk.append_user(1, SAID, datetime.now(UTC))
        Archive(transcript, memory).store(talk, talk.complete(1, "How nice."))
        memory.put([])
        LatencyLog(home.ledger).write(TurnEnded(1, SAID, "How nice.", False, Latency()))
        for number in range(20):
            logging.getLogger("assistant").info("line %d", number)
        assert unclaimed(home) == []
        with table.forgotten.during("me", [talk.id], []):
            assert unclaimed(home) == []
        assert table.rewrite()
        assert unclaimed(home) == []
        assert names(home) >= {
            "transcript",
            "memories",
            "marker",
            "settings",
            "ledger",
            "logs",
            "door",
        }
    assert (home.log.with_name("assistant.log.3")).exists()
    assert names(home) >= {"transcript", "memories", "settings", "ledger", "logs", "use"}
    assert unclaimed(home) == []


def test_a_conversion_or_a_store_set_aside_leaves_no_unlisted_files(home: Home) -> None:
    vault = open_vault(home, Settings())
    homes.talk_in(home, vault)
    vault.close()
    key = MasterKey.new()
    locked = KeyFile.locked(key, "keyring", "0" * 64)
    seen: list[str] = []
    convert(
        home,
        HomeStores(home, Settings()),
        None,
        key,
        locked,
        lambda _: seen.extend(unclaimed(home)),
    )
    assert seen == unclaimed(home) == []
    assert "key" in names(home)
    (home.root / "converted").mkdir()
    (home.root / "converted" / "transcript.sqlite3").touch()
    place_module._set_aside(store_location(home, Settings(), key))
    assert unclaimed(home) == []
    assert names(home) >= {"conversion", "damaged"}


# -- RAM ----------------------------------------------------------------------------------------


def strings() -> Iterable[str]:
    """All strings in RAM that containers refer to, each once, and all keys that are strings."""
    gc.unfreeze()  # otherwise objects from before a session began are missing
    gc.collect()
    every, found = gc.get_objects(), dict[int, str]()
    for start in range(0, len(every), AT_ONCE):
        some = every[start : start + AT_ONCE]
        inner = gc.get_referents(*some)
        # `get_objects` leaves out those that hold nothing but strings and the like.
        plain = [each for each in inner if type(each) in PLAIN and not gc.is_tracked(each)]
        inner += gc.get_referents(*plain)
        # `isinstance` could be fooled by objects that define `__class__`.
        found.update((id(each), each) for each in inner if type(each) is str)
        for each in (*some, *plain):
            if issubclass(type(each), dict):  # `gc` doesn't report keys that are strings
                found.update((id(key), key) for key in list(each) if type(key) is str)
    return found.values()


def secret() -> str:
    """The secret, put together at run time so that it is not a constant of this module."""
    return " ".join(("The silver", "parrot", "hides under", "the third brick", "of the", "cellar."))


def holding(mark: str) -> int:
    return sum(1 for text in strings() if mark in text)


@pytest.fixture
def frozen_again() -> Iterator[None]:
    """After the test, exempt what was imported from garbage collection again, as for all tests."""
    yield
    gc.freeze()


@pytest.mark.usefixtures("frozen_again")
def test_no_text_of_a_forgotten_exchange_stays_in_ram(home: Home) -> None:
    settings = Settings()
    mark = " ".join(("parrot", "hides under"))  # must not keep the whole secret alive
    with ExitStack() as stack:
        fake = HashingEncoder()
        other = OtherHashing()
        both = QueryEncoder(fake, stronger=QueryEncoder(other))
        served = stack.enter_context(open_memory(home, settings, None, lambda: both, print))
        transcript, memory = served.transcript, in_session(served)
        talk = Conversation.begin("me")
        talk.append_user(1, secret(), datetime.now(UTC))
        exchange = talk.complete(1, "Good to know.")
        Archive(transcript, memory).store(talk, exchange)
        del talk
        asyncio.run(memory.settled())
        memory.strengthening.begin().result()
        assert asyncio.run(memory.strengthening.some(9)) == 2
        asyncio.run(memory.recall(secret(), 60.0))
        assert holding(mark) > 1  # `mark` itself and the texts that contain it
        ids = [f"{exchange.id}-user"]
        list(served.answer({"act": "forget", "user": "me", "ids": ids, "now": True}))
        del exchange
        fake.encoded.clear()  # the fake encoders record the texts that they encode
        other.encoded.clear()
        assert holding(mark) == 1
