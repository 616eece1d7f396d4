"""A user's memory on a real table and a real transcript, with an encoder of hashed words."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.events import MemoriesCounted, MemoriesRead, MemoryUsed, Notice
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.retrieval.reranking import Reranking
from assistant.memory.retrieval.vector_maintenance import AT_ONCE
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive, TurnRecall
from tests.support.encoders import SteeredEncoder
from tests.support.long_term import Home, exchange, recalled
from tests.support.patience import LEISURE_S
from tests.support.user_memory import user_memory


class Judge:
    """Takes what mentions Max for an answer to everything, and records the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def judge(self, question: str, memories: Sequence[str]) -> list[float]:
        self.asked.append(question)
        return [0.9 if "Max" in each else 0.01 for each in memories]

    def outdated(self, question: str, older: str, newer: str) -> float:
        raise AssertionError("there is only one answer")


async def test_a_memory_is_found_by_words_at_once_and_by_meaning_when_settled(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    home.encoder.same = {"animal": "dog"}
    talk = Conversation.begin("ada")
    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
        assert "My dog is called Max." in await recalled(memory, "Where is Max now?")
        memory.remember(talk.id, exchange(talk, "It rains today."))
        await memory.settled()
        found = await memory.recall("animal", LEISURE_S)
        assert found.memories[0].text == "My dog is called Max."
        assert not found.missed
        assert found.memories[0].parts["meaning"] > 0.1
        assert sum(found.memories[0].parts.values()) == found.memories[0].score


async def test_memories_are_found_after_a_restart(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
    async with home.memory() as memory:
        found = await memory.recall("the dog", LEISURE_S)
        assert found.memories[0].text == "My dog is called Max."
        assert found.memories[0].parts["meaning"] > 0
        assert found.memories[0].words == ("dog",)


async def test_changes_of_the_number_of_memories_are_reported(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        said = exchange(talk, "My dog is called Max.")
        memory.remember(talk.id, said)
        await memory.settled()
        hidden = HiddenItems.of("ada", [said.id], (), datetime.now(UTC))
        memory.hide(hidden)
        memory.unhide(hidden)
        await asyncio.to_thread(memory.delete, list(memory.index.outlines().values()))
        await asyncio.sleep(0)
    counts = [e.count for e in home.events if isinstance(e, MemoriesRead | MemoriesCounted)]
    assert counts == [0, 2, 0, 2, 0]


async def test_memories_missing_from_the_table_are_restored_from_the_transcript(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    for text in ("My dog is called Max.", "I work in Lisbon."):
        transcript.store(talk, exchange(talk, text))
    for _ in range(2):  # the second time there is nothing left to restore
        async with home.memory(transcript=transcript) as memory:
            assert "I work in Lisbon." in await recalled(memory, "Who works in Lisbon?")
            assert memory.table.count("ada") == 4
    transcript.close()


async def test_another_user_finds_nothing(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory("ada") as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
    async with home.memory("bob") as memory:
        assert (await memory.recall("My dog is called what?", LEISURE_S)).memories == ()


async def test_memories_already_in_the_prompt_are_not_recalled(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        shown = exchange(talk, "My dog is called Max.")
        memory.remember(talk.id, shown)
        memory.remember(talk.id, exchange(talk, "The dog likes fetch."))
        await memory.settled()
        recollection = TurnRecall(memory, lambda: {shown.id})
        found, missed, *_ = await recollection.recall("what of my dog?", LEISURE_S)
        assert [each.text for each in found if each.speaker == "user"] == ["The dog likes fetch."]
        assert not missed


async def test_an_earlier_question_with_the_same_words_is_not_recalled(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "What is my dog called?", ""))
        memory.remember(talk.id, exchange(talk, "My dog is called Max.", ""))
        await memory.settled()
        assert await recalled(memory, "What's my dog called?") == ["My dog is called Max."]


async def test_only_what_is_found_for_a_particular_question_about_the_user_is_judged(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    question, judge = "What name has my dog?", Judge()
    async with home.memory() as memory:
        for text in ("My dog is called Max.", "My dog has chewed a shoe.", "My dog likes fetch."):
            memory.remember(talk.id, exchange(talk, text, ""))
        await memory.settled()
        recollection = TurnRecall(memory, tuple, reranking=Reranking(judge, timeout_s=LEISURE_S))
        await recollection.load()
        asked = await recollection.recall(question, LEISURE_S, about_user=True)
        assert [each.text for each in asked.memories if each.near] == ["My dog is called Max."]
        assert asked.memories[0].answers == 0.9
        assert len(asked.memories) == 3, "the others are known to have been found"
        for other, about_user in (
            ("What does my dog need in winter?", False),
            ("What have I told you today?", True),
        ):
            found = await recollection.recall(other, LEISURE_S, about_user=about_user)
            assert [(each.answers, each.near) for each in found.memories] == [(None, True)] * 3
        assert judge.asked == [question]
        recollection.close()


async def test_with_a_slow_encoder_memories_are_found_by_words(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    released = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
        await memory.settled()

        def wait() -> None:
            asyncio.run_coroutine_threadsafe(released.wait(), loop).result()

        home.encoder.gate = wait
        found = await memory.recall("Where is Max?", 0.02)
        released.set()
        assert found.missed
        assert found.memories[0].text == "My dog is called Max."
        assert "meaning" not in found.memories[0].parts


async def test_many_misses_in_a_row_are_reported_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        for run, reported in ((4, 0), (10, 1), (10, 1)):
            home.encoder.broken = True
            for number in range(run):
                assert (await memory.recall(f"question {number}", LEISURE_S)).missed
            home.encoder.broken = False
            assert not (await memory.recall("another question", LEISURE_S)).missed
            memory.asking.over(None)  # or its vector would be used
            notices = [event.text for event in home.events if isinstance(event, Notice)]
            assert len(notices) == reported
    assert "only by matching words" in notices[0]


async def test_without_a_store_new_exchanges_are_still_remembered(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")

    def fails() -> MemoryTable:
        raise StoreError("The memories can't be reached.", mend="Try again.")

    home.open_table = fails
    async with home.memory() as memory:
        memory.remember(talk.id, exchange(talk, "My dog is called Max."))
        assert "My dog is called Max." in await recalled(memory, "Where is Max?")
        await asyncio.sleep(0)
    assert [str(e.text) for e in home.events if isinstance(e, Notice)] == [
        "The memories can't be reached."
    ]


async def test_the_archive_stores_remembers_and_counts_use(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    async with home.memory(transcript=transcript) as memory:
        archive = Archive(transcript, memory)
        first = exchange(talk, "My dog is called Max.")
        archive.store(talk, first)
        used = MemoryUsed(f"{first.id}-user", "My dog is called Max.", 0.5)
        archive.store(talk, exchange(talk, "What is he called?", "Max."), None, [used])
        await memory.settled()
        [row] = memory.table.get("ada", [f"{first.id}-user"])
        assert (row.uses, row.last_used is not None) == (1, True)
        assert row.sources == (first.id,)
        found = await memory.recall("Where is Max?", LEISURE_S)
        assert [each.parts.get("use", 0) > 0 for each in found.memories if "dog" in each.text] == [
            True
        ]
    transcript.close()


async def test_without_matches_the_newest_statements_are_recalled(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        for text in (
            "My dog is called Max.",
            "Is it late?",
            "I work in Lisbon.",
            "It rains.",
            "Hm.",
        ):
            last = exchange(talk, text)
            memory.remember(talk.id, last)
        await memory.settled()
        home.encoder.broken = True
        found = await memory.recall("Zebra", LEISURE_S)
        assert found.missed
        assert [each.text for each in found.memories] == ["Hm.", "It rains.", "I work in Lisbon."]
        shown = await memory.recall("Zebra", LEISURE_S, exclude=[last.id])
        assert shown.memories[0].text == "It rains."
        memory.hide(HiddenItems.of("ada", [talk.exchanges[-2].id], (), datetime.now(UTC)))
        hidden = await memory.recall("Zebra", LEISURE_S)
        assert "It rains." not in [each.text for each in hidden.memories]


async def test_a_recall_before_the_store_is_read_is_a_miss(tmp_path: Path) -> None:
    memory = user_memory(tmp_path / "memories", SteeredEncoder())
    assert (await memory.recall("Where is Max?", LEISURE_S)).missed
    await memory.close()


async def test_after_a_change_of_encoder_older_memories_are_encoded_while_nobody_speaks(
    tmp_path: Path,
) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    async with home.memory() as memory:
        for number in range(100):
            name = f"number {number}" if number else "Xanthippe"
            memory.remember(talk.id, exchange(talk, f"My friend {name} is in Lisbon."))
        await memory.settled()
        assert memory.index.without_vectors(1) == ([], [])

    home.encoder = SteeredEncoder()
    home.encoder.name = "another"
    speaking = True
    memory = user_memory(home.open_table, home.encoder, emit=home.events.append)
    memory.give_way(lambda: speaking)
    await memory.load(None)
    waiting = len(memory.index.without_vectors(1_000)[0])
    assert waiting == 200 - AT_ONCE, "the newest have vectors"
    found = await recalled(memory, "Who is Xanthippe?")
    assert "My friend Xanthippe is in Lisbon." in found, "the oldest is found by its words"
    memory.remember(talk.id, exchange(talk, "My dog is called Max."))
    async with asyncio.timeout(LEISURE_S):
        while not memory.index.has_vector(f"{talk.exchanges[-1].id}-user"):
            await asyncio.sleep(0.01)
    speaking = False
    async with asyncio.timeout(LEISURE_S):
        while memory.index.without_vectors(1)[0]:
            await asyncio.sleep(0.01)
    await memory.close()
    async with home.memory() as memory:
        assert memory.index.without_vectors(1) == ([], []), "the vectors are in the store"


async def test_late_recalls_are_reported_unless_the_user_is_still_speaking(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        for draft in (True, False):
            for number in range(7):
                await memory.recall(f"Where is Max, {number}?", 0.0, draft=draft)
            notices = [event.text for event in home.events if isinstance(event, Notice)]
            assert bool(notices) is not draft
