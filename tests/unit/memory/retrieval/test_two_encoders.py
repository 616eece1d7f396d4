"""Recall with two encoders, on a real table: the stronger one is used if it is in time and has
vectors, the quick one otherwise."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.errors import ModelMissing
from assistant.events import Event, Notice
from assistant.idle.jobs.embedding import IN_A_PART, OUTDATED, EmbeddingJob
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.question import Earlier
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from tests.support.encoders import HashingEncoder, OtherHashing
from tests.support.long_term import exchange
from tests.support.memories import memory as told
from tests.support.pace import UNHURRIED_S, unhurried
from tests.support.patience import LEISURE_S, PATIENCE_S
from tests.support.user_memory import opened_memory

ANIMAL = "My dog is called Max."


class Knowing(OtherHashing):
    """Knows that dogs are animals, which the quick encoder doesn't."""

    def _meant(self, word: str) -> str:
        return "other dog" if word in ("dog", "animal") else super()._meant(word)


class Missing(OtherHashing):
    def load(self) -> None:
        raise ModelMissing("The encoder other is missing.", mend="assistant models pull other")


class Gate:
    """Holds up each encoding until a test lets it go on."""

    def __init__(self) -> None:
        self.entered, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.may_go_on.wait(2 * LEISURE_S)


class Home:
    """The folder, encoders and events that outlast a restart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.quick = HashingEncoder()
        self.strong: OtherHashing = Knowing()
        self.events: list[Event] = []
        self.rests = 0

    def encoder(self, *, both: bool = True) -> QueryEncoder:
        stronger = QueryEncoder(self.strong, rest=self._rest) if both else None
        return QueryEncoder(self.quick, stronger=stronger)

    def _rest(self) -> None:
        self.rests += 1

    @asynccontextmanager
    async def memory(self, encoder: QueryEncoder | None = None) -> AsyncIterator[UserMemory]:
        where = self.folder / "memories"
        queries = encoder or self.encoder()
        async with opened_memory(where, queries, emit=self.events.append) as memory:
            await asyncio.wrap_future(memory.strengthening.begin())
            try:
                yield memory
            finally:
                self.strong.gate = lambda: None


async def tell(memory: UserMemory, *texts: str) -> None:
    talk = Conversation.begin("ada")
    for text in texts:
        memory.remember(talk.id, exchange(talk, text))
    await memory.settled()


async def strengthened(memory: UserMemory, *texts: str) -> None:
    """Adds these texts, and encodes until every memory has both vectors."""
    await tell(memory, *texts)
    while await memory.strengthening.some(8):
        pass


async def meaning(memory: UserMemory, query: str, text: str = ANIMAL) -> float:
    found = await memory.recall(query, LEISURE_S)
    return next(each.parts.get("meaning", 0.0) for each in found.memories if each.text == text)


async def test_the_quick_encoder_is_used_until_the_stronger_one_has_vectors(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await tell(memory, ANIMAL, "It rains today.")
        assert memory.strengthening.missing() == 4
        before = await meaning(memory, "animal")
        assert home.strong.encoded == [], "an encoder without vectors is not used"
        await strengthened(memory)
        assert memory.strengthening.missing() == 0
        assert await meaning(memory, "animal") > before + 0.1
        found = await memory.recall("animal", LEISURE_S)
        assert not found.missed
        assert not found.stand_in
        await tell(memory, "The dog sleeps.")  # without a stronger vector, but found
        assert await meaning(memory, "The dog sleeps.", "The dog sleeps.") > 0.5


async def test_after_a_restart_nothing_is_encoded_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await strengthened(memory, ANIMAL)
    home.strong.encoded.clear()
    async with home.memory() as memory:
        assert memory.strengthening.missing() == 0
        assert await meaning(memory, "animal") > 0.2
    assert home.strong.encoded == ["animal"]


async def test_a_late_stronger_encoder_is_replaced_by_the_quick_one_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unhurried(monkeypatch)
    home, gate = Home(tmp_path), Gate()
    async with home.memory() as memory:
        await strengthened(memory, ANIMAL)
        home.strong.gate = gate
        late = await memory.recall("Max the dog", UNHURRIED_S)
        assert late.stand_in
        assert not late.missed
        assert late.memories[0].text == ANIMAL
        gate.may_go_on.set()
        again = await memory.recall("Max the dog", LEISURE_S)
        assert not again.stand_in


async def test_a_question_encoded_ahead_has_its_stronger_vector_in_time(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await strengthened(memory, ANIMAL)
        home.strong.encoded.clear()
        memory.asking.ahead("animal")
        async with asyncio.timeout(PATIENCE_S):
            while "animal" not in home.strong.encoded:
                await asyncio.sleep(0.001)
        assert not (await memory.recall("animal", LEISURE_S)).stand_in
        assert home.strong.encoded == ["animal"]


async def test_a_follow_up_needs_the_stronger_vector_of_the_question_it_refers_to(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await strengthened(memory, ANIMAL)
        earlier = [Earlier("Where did the animal sleep?", "In the bath.")]
        async with asyncio.timeout(PATIENCE_S):
            asked = await memory.asking.ask("and it?", LEISURE_S + 1e9, earlier)
            assert asked.stronger is None
            assert not asked.stand_in
            await memory.recall(earlier[0].said, LEISURE_S)
            memory.asking.over(earlier[0].said)
            asked = await memory.asking.ask("and it?", LEISURE_S + 1e9, earlier)
        assert asked.stronger is not None


async def test_a_changed_text_loses_both_vectors(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await asyncio.to_thread(memory.put, [told("The bike is red.", "ada")])
        await strengthened(memory)
        [key] = memory.index.newest(1)
        await asyncio.to_thread(
            memory.change, [key], lambda old: replace(old, text="The bike is green.")
        )
        assert memory.strengthening.missing() == 1
        assert len(memory.table.without_vectors("ada", "other", 9)) == 1


async def test_a_memory_deleted_while_it_is_encoded_gets_no_vector(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        await asyncio.to_thread(memory.put, [told("The bike is red.", "ada")])
        [key] = memory.index.newest(1)
        home.strong.gate = gate = Gate()
        working = asyncio.create_task(memory.strengthening.some(8))
        await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
        [old] = memory.table.get("ada", [key])
        await asyncio.to_thread(memory.delete, [old])
        gate.may_go_on.set()
        assert await working == 1
        assert memory.table.count("ada") == 0
        assert home.strong.encoded == ["The bike is red."]
        assert "The bike is red." not in memory._encoder.texts()


async def test_cancelled_work_stops_the_encoder(tmp_path: Path) -> None:
    home, gate = Home(tmp_path), Gate()
    strong = QueryEncoder(home.strong, rest=gate.may_go_on.set)
    encoder = QueryEncoder(home.quick, stronger=strong)
    async with home.memory(encoder) as memory:
        await tell(memory, ANIMAL)
        home.strong.gate = gate
        working = asyncio.create_task(memory.strengthening.some(8))
        await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
        working.cancel()
        await asyncio.wait([working])
        assert gate.may_go_on.is_set()


async def test_without_the_stronger_model_the_quick_one_is_used(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.strong = Missing()
    async with home.memory() as memory:
        await asyncio.wrap_future(memory.strengthening.begin())
        await tell(memory, ANIMAL)
        assert memory.strengthening.missing() == 0
        assert await meaning(memory, "Max") > 0
        await asyncio.sleep(0.01)
    [notice] = [event for event in home.events if isinstance(event, Notice)]
    assert "only hashing" in notice.text
    assert notice.mend == "assistant models pull other"


async def test_a_rebuild_makes_stronger_vectors_again(tmp_path: Path) -> None:
    home, talk = Home(tmp_path), Conversation.begin("ada")
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as transcript:
        async with home.memory() as memory:
            Archive(transcript, memory).store(talk, exchange(talk, ANIMAL))
            await memory.settled()
            await strengthened(memory)
            assert await asyncio.to_thread(memory.rebuild, transcript) == 2
            assert memory.strengthening.missing() == 2
            assert await meaning(memory, "Max") > 0
            await strengthened(memory)
            assert await meaning(memory, "animal") > 0.2


# -- between utterances -------------------------------------------------------------------------


async def test_idle_work_encodes_memories_and_deletes_the_vectors_of_an_unused_encoder(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    async with home.memory() as memory:
        work = EmbeddingJob(memory)
        assert list(await work.missing(9)) == []
        await tell(memory, *(f"Fact number {number}." for number in range(IN_A_PART)))
        before = work.light
        parts = await work.missing(9)
        assert len(parts) == 2
        await work.run(parts)
        assert memory.strengthening.missing() == 0
        assert home.rests == 1
        assert (before, work.light) == (False, True)
        assert memory.table.encoders() == {"hashing": 32, "other": 48}
    async with home.memory(home.encoder(both=False)) as memory:
        work = EmbeddingJob(memory)
        assert list(await work.missing(9)) == [OUTDATED]
        await work.run([OUTDATED])
        assert memory.table.encoders() == {"hashing": 32}
        assert list(await work.missing(9)) == []
        assert await meaning(memory, "number 7", "Fact number 7.") > 0


def test_forgotten_texts_are_removed_from_both_encoders() -> None:
    stronger = QueryEncoder(OtherHashing())
    encoder = QueryEncoder(HashingEncoder(), stronger=stronger)
    stronger.load()
    encoder.encode_query("one")
    stronger.encode_query("two")
    stronger.encode_documents(["three"])
    assert set(encoder.texts()) == {"one", "two", "three"}
    encoder.forget_queries()
    assert encoder.texts() == ["three"]
    encoder.forget(["three"])
    assert encoder.texts() == []
    stronger.encode_documents(["four"])
    encoder.clear()
    assert stronger.texts() == []
    encoder.close()


# -- a stronger encoder that is known to be too slow ----------------------------------------------


@asynccontextmanager
async def slow(home: Home) -> AsyncIterator[tuple[UserMemory, QueryEncoder]]:
    """The stronger encoder is known to take a thousand seconds for a question."""
    moments = iter(range(0, 10**9, 1_000))
    stronger = QueryEncoder(home.strong, clock=lambda: next(moments))
    async with home.memory(QueryEncoder(home.quick, stronger=stronger)) as memory:
        await strengthened(memory, ANIMAL)
        first = await memory.recall("Max", LEISURE_S)
        assert not first.stand_in, "its speed is not known yet"
        yield memory, stronger


async def encoded(encoder: QueryEncoder, text: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while text not in encoder.texts():
            await asyncio.sleep(0.001)


async def test_recall_does_not_wait_for_an_encoder_known_to_be_too_slow(tmp_path: Path) -> None:
    home, gate = Home(tmp_path), Gate()
    async with slow(home) as (memory, stronger):
        home.strong.gate = gate
        async with asyncio.timeout(LEISURE_S / 2):
            assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
        assert not gate.entered.is_set(), "it uses no processor time meanwhile"
        gate.may_go_on.set()
        await encoded(stronger, "Max the dog")
        assert not (await memory.recall("Max the dog", LEISURE_S)).stand_in, "encoded by now"


async def test_a_slow_encoder_does_not_encode_words_that_were_dropped(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with slow(home) as (memory, stronger):
        ways: tuple[Callable[[], None], ...] = (
            lambda: memory.asking.over(None),
            lambda: memory.asking.over("Max the cat"),
            memory.forget_questions,
        )
        for give_up in ways:
            assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
            give_up()
            await asyncio.sleep(0)
        assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
        memory.asking.over("Max the dog")
        await asyncio.sleep(0)
        await encoded(stronger, "Max the dog")
    assert home.strong.encoded.count("Max the dog") == 1


async def test_an_encoding_under_way_is_used_if_it_ends_in_time(tmp_path: Path) -> None:
    home, gate = Home(tmp_path), Gate()
    async with slow(home) as (_, stronger):
        home.strong.gate = gate
        stronger.ahead("Max the dog")
        assert await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
        stronger.ahead("Max the cat")
        under_way = stronger.under_way("Max the cat")
        assert under_way is None, "it was waiting, and is no longer started"
        stronger.ahead("Max the dog")
        gate.may_go_on.set()
        await encoded(stronger, "Max the dog")
        found = stronger.under_way("Max the dog")
        assert found is not None
        assert found.result().shape == (home.strong.dimensions,)
    assert "Max the cat" not in home.strong.encoded
