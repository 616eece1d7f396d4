import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.context import short_term
from assistant.context.conversation import Conversation, Exchange, Summary
from assistant.context.short_term import ShortTermMemory, Store
from assistant.errors import StoreError
from assistant.events import Event, Latency, MemoryUsed, Notice, TurnEnded
from assistant.memory.transcript.database import Transcript
from assistant.settings import Settings
from tests.support.context import NOW, recalled
from tests.support.scripted_model import ScriptedModel


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_term, "SUMMARY_DELAY_S", 0.0)


class FlakyStore:
    """Fails while `broken`; otherwise records ids."""

    def __init__(self) -> None:
        self.broken = False
        self.exchanges: list[str] = []
        self.summaries: list[str] = []

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
        near_misses: Sequence[tuple[str, float, str]] = (),
    ) -> None:
        self._fail()
        self.exchanges.append(exchange.id)

    def store_summary(self, conversation: Conversation, summary: Summary) -> None:
        self._fail()
        self.summaries.append(summary.id)

    def _fail(self) -> None:
        if self.broken:
            raise StoreError("The disk is full.", mend="Free some space.")


class Bench:
    def __init__(
        self,
        store: Store | None = None,
        model: ScriptedModel | None = None,
        conversation: Conversation | None = None,
    ) -> None:
        self.model = model or ScriptedModel(["They spoke of dogs."])
        self.events: list[Event] = []
        conversation = conversation or Conversation.begin("ada")
        self.memory = ShortTermMemory(
            conversation, self.model, Settings(), store, self.events.append, now=lambda: NOW
        )

    async def talk(self, turns: int) -> None:
        for _ in range(turns):
            turn = self.memory.turns + 1
            ended = TurnEnded(turn, f"question {turn}", f"answer {turn}", False, Latency())
            await self.memory.keep(ended, NOW)
            self.memory.summarize_if_due()

    @property
    def ids(self) -> Sequence[str]:
        return [exchange.id for exchange in self.memory.conversation.exchanges]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


async def test_a_kept_turn_is_in_the_history_and_on_disk() -> None:
    store = FlakyStore()
    bench = Bench(store)
    await bench.talk(2)

    assert bench.memory.turns == 2
    assert store.exchanges == bench.ids
    prompt = bench.memory.prompt("And?", [recalled("dog is Max")])
    assert [message.content for message in prompt.stable_messages[1:]] == [
        *("question 1", "answer 1"),
        *("question 2", "answer 2"),
    ]
    assert "- dog is Max" in prompt.messages[-1].content
    assert bench.memory.read_ahead()[:-1] == prompt.stable_messages


async def test_a_summary_takes_effect_when_the_next_turn_is_kept() -> None:
    store = FlakyStore()
    bench = Bench(store)
    await bench.talk(11)
    await bench.memory.summarized()
    before = bench.memory.prompt("x").stable_messages
    assert len(before) == 23, "the prefix must not change before the next turn"

    await bench.talk(1)
    after = bench.memory.prompt("x").stable_messages
    assert after[0].content.endswith("They spoke of dogs.")
    assert len(after) == 1 + 2 * 3
    assert len(store.summaries) == 1


async def test_speech_stops_a_summary_and_silence_starts_it_again() -> None:
    hold = asyncio.Event()
    bench = Bench(model=ScriptedModel(["They spoke of dogs."], waits_for=hold))
    await bench.talk(11)
    await bench.model.writing.wait()
    bench.memory.pause()
    while not bench.model.cancelled:
        await asyncio.sleep(0)

    hold.set()
    bench.memory.summarize_if_due()
    await bench.memory.summarized()
    await bench.talk(1)
    assert bench.memory.conversation.summary is not None
    assert len(bench.model.requests) == 2


async def test_a_store_failure_is_reported_once_and_the_turns_are_stored_later() -> None:
    store = FlakyStore()
    bench = Bench(store)
    store.broken = True
    await bench.talk(3)
    assert bench.notices == ["The disk is full."]
    store.broken = False
    await bench.talk(1)

    assert store.exchanges == bench.ids
    assert bench.notices == ["The disk is full.", "The conversation can be stored again."]


async def test_without_a_store_the_conversation_goes_on() -> None:
    bench = Bench(None)
    await bench.talk(3)
    assert bench.memory.turns == 3
    assert bench.events == []


async def test_forgotten_exchanges_are_never_written_or_summarized() -> None:
    store = FlakyStore()
    bench = Bench(store)
    store.broken = True
    await bench.talk(11)
    await bench.memory.summarized()
    forgotten = bench.ids[0]
    assert bench.memory.hide([forgotten]) == {forgotten}
    store.broken = False
    await bench.talk(1)

    assert forgotten not in store.exchanges
    assert len(store.exchanges) == 11
    assert bench.memory.conversation.summary is None
    assert all(message.content != "question 1" for message in bench.memory.read_ahead())


async def test_a_summary_of_a_forgotten_exchange_is_dropped_at_once_and_written_anew() -> None:
    bench = Bench()
    await bench.talk(12)
    await bench.memory.summarized()
    assert len(bench.model.requests) == 1
    bench.memory.hide([bench.ids[0]])
    bench.memory.summarize_if_due()
    await bench.memory.summarized()

    assert len(bench.model.requests) == 2
    assert "question 1\n" not in bench.model.requests[1].messages[1].content
    await bench.talk(1)
    assert bench.memory.conversation.summary is not None


async def test_closing_stores_unsaved_exchanges_and_summaries() -> None:
    store = FlakyStore()
    bench = Bench(store)
    await bench.talk(11)
    await bench.memory.summarized()
    store.broken = True
    await bench.talk(1)
    store.broken = False
    await bench.memory.close()

    assert store.exchanges == bench.ids
    assert len(store.summaries) == 1


async def test_closing_cancels_a_running_summary() -> None:
    bench = Bench(model=ScriptedModel(["They spoke of dogs."], waits_for=asyncio.Event()))
    await bench.talk(11)
    await bench.model.writing.wait()
    await bench.memory.close()
    assert bench.model.cancelled == 1


async def test_the_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    transcript = Transcript.open(tmp_path / "t.sqlite3")
    bench = Bench(transcript)
    await bench.talk(11)
    await bench.memory.summarized()
    await bench.talk(1)
    stable = bench.memory.read_ahead()
    await bench.memory.close()
    transcript.close()

    transcript = Transcript.open(tmp_path / "t.sqlite3")
    resumed = transcript.resume("ada", timedelta(hours=1))
    again = Bench(transcript, conversation=resumed)
    assert again.memory.read_ahead() == stable
    await again.talk(1)
    assert again.memory.turns == 13
    await again.memory.close()
    transcript.close()


async def test_off_the_record_turns_are_not_stored_and_leave_the_conversation_afterwards() -> None:
    store = FlakyStore()
    bench = Bench(store)
    await bench.talk(1)
    bench.memory.go_off_record()
    await bench.talk(2)
    assert len(bench.ids) == 3, "while off the record, turns stay in the context"
    bench.memory.go_on_record()
    await bench.talk(1)
    assert store.exchanges == bench.ids
    assert bench.memory.turns == 4
