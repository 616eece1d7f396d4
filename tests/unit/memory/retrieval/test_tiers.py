"""Which memories are in which tier, and that tiers change results only by rounding."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.context.conversation import Conversation
from assistant.errors import StoreError
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.results import RecalledMemory
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.retrieval.vector_maintenance import TierRefresh
from assistant.memory.retrieval.vectors.tiers import DAY_S, Marks, Tier, Tiers, assigned, priority
from assistant.memory.store.table import MemoryTable
from tests.support.encoders import unit_vectors
from tests.support.in_ram import held
from tests.support.user_memory import opened_memory, user_index

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DIMENSIONS = 64
ENCODER = "real"


def marks(count: int, **given: Sequence[float]) -> Marks:
    """Memories a year old, never used and equally important, except as given; ages in days."""
    now = NOW.timestamp()
    created = now - DAY_S * np.array(given.get("age", [365.0] * count))
    return Marks(
        created=created,
        last_used=now - DAY_S * np.array(given["unused"]) if "unused" in given else created,
        uses=np.array(given.get("uses", [0.0] * count)),
        importance=np.array(given.get("importance", [0.5] * count)),
        pinned=np.array(given.get("pinned", [0] * count), np.bool_),
    )


@pytest.mark.parametrize(
    "given",
    [
        {"age": [300, 2]},
        {"importance": [0.2, 0.8]},
        {"uses": [0, 5]},
        {"uses": [5, 5], "unused": [300, 3]},
        {"pinned": [0, 1], "importance": [1.0, 0.0], "age": [0, 900], "uses": [60, 0]},
        {"age": [0, -400]},  # dated in the future, since the clock was set back: new
        {},  # the later of equal memories
    ],
    ids=lambda given: "+".join(given) or "equals",
)
def test_new_important_and_used_memories_come_first(given: dict[str, Sequence[float]]) -> None:
    tiers = assigned(marks(2, **given), Tiers(hot=1, warm=0), NOW.timestamp())
    assert {tier: rows.tolist() for tier, rows in tiers.items()} == {
        Tier.HOT: [1],
        Tier.WARM: [],
        Tier.COLD: [0],
    }


def test_tiers_are_filled_in_order_and_hold_each_memory_once() -> None:
    given = marks(1_000, age=np.random.default_rng(1).uniform(0, 900, 1_000).tolist())
    tiers = assigned(given, Tiers(), NOW.timestamp())
    assert [len(tiers[tier]) for tier in Tier] == [200, 500, 300]
    assert sorted(np.concatenate(list(tiers.values()))) == list(range(1_000))
    stand = priority(given, NOW.timestamp())
    assert stand[tiers[Tier.HOT]].min() >= stand[tiers[Tier.WARM]].max()
    assert stand[tiers[Tier.WARM]].min() >= stand[tiers[Tier.COLD]].max()
    few = assigned(marks(3), Tiers(), NOW.timestamp())
    assert [len(few[tier]) for tier in Tier] == [3, 0, 0]


# -- in the index -------------------------------------------------------------------------------


def memories(count: int) -> list[Memory]:
    """Memories from conversations of five turns, an hour apart, up to the present."""
    draw = np.random.default_rng(2)
    words = "dog walk tea coffee Lisbon work train music rain friend book garden"
    return [
        Memory(
            id=f"m{number}",
            user_id="ada",
            kind=MemoryKind.EXCHANGE,
            text=" ".join(draw.choice(words.split(" "), 6)) + f" number {number}",
            created=NOW - timedelta(hours=count - number),
            conversation=f"c{number // 5}",
            importance=0.5,
        )
        for number in range(count)
    ]


def vectors(count: int) -> NDArray[np.float32]:
    return unit_vectors(count, DIMENSIONS)


def index(count: int) -> UserIndex:
    made = user_index(DIMENSIONS)
    made.add(memories(count), vectors(count))
    return made


def reader(count: int) -> "Read":
    return Read(dict(zip((f"m{number}" for number in range(count)), vectors(count), strict=True)))


class Read:
    def __init__(self, known: dict[str, NDArray[np.float32]]) -> None:
        self.known = known
        self.asked: list[str] = []

    def __call__(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        self.asked += ids
        return {key: self.known[key] for key in ids if key in self.known}


def tier_of(made: UserIndex, numbers: Iterable[int]) -> set[Tier | None]:
    return {made.tier(f"m{number}") for number in numbers}


def search(made: UserIndex, query: str, vector: NDArray[np.float32]) -> list[RecalledMemory]:
    return made.search(read_question(query, ()), vector, k=10, now=NOW)


def test_a_refresh_moves_memories_and_reads_only_the_vectors_of_newcomers() -> None:
    made, read, tiers = index(60), reader(60), Tiers(hot=10, warm=20)
    assert made.tier_counts() == {Tier.HOT: 0, Tier.WARM: 0, Tier.COLD: 60}
    made.age(tiers, NOW, read)
    assert made.tier_counts() == {Tier.HOT: 10, Tier.WARM: 20, Tier.COLD: 30}
    assert tier_of(made, range(50, 60)) == {Tier.HOT}
    assert tier_of(made, range(30, 50)) == {Tier.WARM}
    assert tier_of(made, range(30)) == {Tier.COLD}
    read.asked.clear()
    made.update(replace(memories(60)[3], pinned=True))
    made.update(replace(memories(60)[4], never_recall=True, pinned=True))
    made.age(tiers, NOW, read)
    assert read.asked == ["m3"]
    assert tier_of(made, [3]) == {Tier.HOT}
    assert tier_of(made, [50]) == {Tier.WARM}
    assert tier_of(made, [30, 4]) == {Tier.COLD}
    assert made.tier("nobody's") is None


def test_results_stay_the_same_up_to_rounding() -> None:
    made, known = index(300), vectors(300)
    queries = [(f"the dog and number {number}", known[number] * 0.9) for number in (5, 150, 299)]
    before = [search(made, *query) for query in queries]
    made.age(Tiers(hot=40, warm=80), NOW, reader(300))
    after = [search(made, *query) for query in queries]
    for old, new in zip(before, after, strict=True):
        known_before = {each.id: each.score for each in old}
        for place, each in zip(old, new, strict=True):  # rounding may swap equal ones
            assert known_before.get(each.id, old[-1].score) == pytest.approx(place.score, abs=0.005)
        assert new[0].id == old[0].id
        assert [each.score for each in old] == pytest.approx([e.score for e in new], abs=0.005)
        assert {each.tier for each in old} == {Tier.COLD}
    assert {each.tier for found in after for each in found} == set(Tier)


def test_memories_in_the_warm_tier_are_never_missed() -> None:
    made, known = index(300), vectors(300)
    made.dense.quick._rescored = 1
    made.age(Tiers(hot=0, warm=300), NOW, reader(300))
    nearest = np.argsort(-(known @ known[7]))[:20]
    assert made.nearest(known[7], 20)[:5] == [f"m{row}" for row in nearest[:5]]


@pytest.mark.parametrize("place", [59, 45, 2], ids=["hot", "warm", "cold"])
def test_forgetting_removes_a_memory_from_its_tier(place: int) -> None:
    made, known = index(60), vectors(60)
    made.age(Tiers(hot=10, warm=20), NOW, reader(60))
    counts = made.tier_counts()
    tier = made.tier(f"m{place}")
    assert tier is not None
    code = made.dense.quick._quantized.codes[place].tobytes()
    assert code in held(made)
    assert (known[place].tobytes() in held(made)) is (tier is Tier.HOT)
    made.remove([f"m{place}"])
    assert code not in held(made)
    assert known[place].tobytes() not in held(made)
    assert made.tier_counts() == counts | {tier: counts[tier] - 1}
    assert f"m{place}" not in made.nearest(known[place], 60)
    made.age(Tiers(hot=10, warm=20), NOW, reader(60))
    assert made.tier_counts() == {Tier.HOT: 10, Tier.WARM: 20, Tier.COLD: 29}
    assert known[place].tobytes() not in held(made)


def test_a_memory_whose_vector_cannot_be_read_is_not_hot() -> None:
    made, read = index(20), reader(20)
    del read.known["m19"]
    made.age(Tiers(hot=3, warm=2), NOW, read)
    assert tier_of(made, [17, 18]) == {Tier.HOT}
    assert tier_of(made, [19]) == {Tier.COLD}

    def fails(ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        raise StoreError("The memories can't be read.")

    before = made.tier_counts()
    with pytest.raises(StoreError):
        made.age(Tiers(hot=9, warm=2), NOW, fails)
    assert made.tier_counts() == before


# -- in a running memory ------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Iterator[MemoryTable]:
    opened = MemoryTable.open(str(tmp_path / "memories"))
    opened.add_encoder(ENCODER, DIMENSIONS)
    opened.add(memories(30), {ENCODER: vectors(30)})
    yield opened
    opened.close()


def test_the_refresh_reads_exact_vectors_from_the_table_when_it_is_due(table: MemoryTable) -> None:
    time = [0.0]
    made, ageing = index(30), TierRefresh(Tiers(hot=5, warm=5, ageing_s=300), lambda: time[0])
    assert ageing.due(made)
    ageing.run(made, [ENCODER], table)
    assert made.tier_counts() == {Tier.HOT: 5, Tier.WARM: 5, Tier.COLD: 20}
    assert vectors(30)[29].tobytes() in held(made)
    assert vectors(30)[20].tobytes() not in held(made)
    time[0] = 299.0
    assert not ageing.due(made)
    assert ageing.due(index(1))
    time[0] = 300.0
    assert ageing.due(made)


def test_some_rows_of_the_table_can_be_scanned(table: MemoryTable) -> None:
    found = list(table.scan("ada", ("id",), (ENCODER,), ["m7", "m3", "nobody's"]))
    assert [key for batch in found for key in batch.values("id")] == ["m3", "m7"]
    np.testing.assert_array_equal(found[0].vectors(ENCODER)[0], vectors(30)[[3, 7]])
    assert not list(table.scan("bob", ("id",), (), ["m7"]))


async def test_a_running_memory_refreshes_its_tiers(tmp_path: Path) -> None:
    tiers = Tiers(hot=2, warm=2, ageing_s=1e-9)
    async with opened_memory(tmp_path / "memories", tiers=tiers) as memory:
        talk = Conversation.begin("ada")
        for turn in range(1, 7):
            talk.append_user(turn, f"I have a dog number {turn}.", datetime.now(UTC))
            memory.remember(talk.id, talk.complete(turn, ""))
            await memory.settled()
        assert memory.index.tier_counts() == {Tier.HOT: 2, Tier.WARM: 2, Tier.COLD: 2}
        found = (await memory.recall("the dog number 6", 30.0)).memories
        assert {each.text: each.tier for each in found}["I have a dog number 6."] is Tier.HOT
        assert {each.tier for each in found} == set(Tier)
