"""An index that one thread changes while others search it and delete from it."""

import threading
import time
from collections.abc import Collection
from datetime import datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.memory.records.arrays import Rows
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval import user_index as module
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.relation_index import LOOKED_AT
from assistant.memory.retrieval.row_metadata import RowMetadata
from assistant.memory.retrieval.user_index import UserIndex
from tests.support.memories import NOW, turn
from tests.support.user_memory import user_index


def index(*memories: Memory) -> UserIndex:
    made = user_index(8)
    made.add(memories)
    return made


def found(within: UserIndex, words: str) -> list[str]:
    question = read_question(words, within.speakers())
    return [each.id for each in within.search(question, None, k=5, now=NOW)]


def test_forgetting_waits_for_one_batch_of_an_addition_and_not_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    within = index(turn(0, "My red bicycle."))
    batches = 20
    forgotten = threading.Event()
    held: list[bool] = []
    breath = time.sleep

    def paused(seconds: float) -> None:
        if not held:
            within.hide(["x0"], ())  # would wait for ever, were the lock held between batches
            forgotten.set()
        held.append(True)
        breath(seconds)

    monkeypatch.setattr("assistant.memory.retrieval.user_index.time.sleep", paused)
    within.add([turn(n, f"Apple {n}.") for n in range(1, batches * module.ADDED_AT_ONCE)])
    assert forgotten.is_set()
    assert len(held) == batches - 1
    assert found(within, "bicycle") == []
    assert len(found(within, "apple")) == 5


def test_a_memory_added_while_its_source_is_hidden_is_hidden_too() -> None:
    within = index()
    within.hide(["x1"], ["m2"])
    within.add([turn(1, "My red bicycle."), turn(2, "A red bicycle."), turn(3, "The bicycle.")])
    assert found(within, "bicycle") == ["m3"]
    within.hide((), ())
    assert len(found(within, "bicycle")) == 3


def test_the_same_memories_are_found_before_and_after_a_merge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = [turn(n, f"My friend number {n} is in Lisbon.") for n in range(300)]
    plain = found(index(*many), "friend number 77")
    monkeypatch.setattr(module, "LONG", 50)
    merged = index(*many)
    assert merged.unmerged < 100
    assert found(merged, "friend number 77") == plain
    assert plain[0] == "m77"


def test_the_names_checked_for_a_relation_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = [turn(n, f"My client {'ABCDEFGHIJ'[n // 26 % 10]}{chr(97 + n % 26)}o called.")
               for n in range(200)]  # fmt: skip
    within = index(*clients)
    within.hide([f"x{n}" for n in range(200)], ())
    asked = list[int]()
    real = RowMetadata.eligible

    def counted(
        columns: RowMetadata, rows: Rows, exclude: Collection[str], now: datetime
    ) -> NDArray[np.bool_]:
        asked.append(len(rows))
        return real(columns, rows, exclude, now)

    monkeypatch.setattr(RowMetadata, "eligible", counted)
    assert found(within, "What did my client say?") == []
    assert 0 < asked.count(1) <= LOOKED_AT


def test_a_speaker_without_memories_is_no_longer_listed() -> None:
    within = index(turn(0, "Hello.", speaker="Maria"), turn(1, "Hello.", speaker="Jo"))
    before = within.speakers()
    within.add([turn(2, "Hello.", speaker="Kim")])
    assert before == {"Maria", "Jo"}
    assert within.speakers() == {"Maria", "Jo", "Kim"}
    within.remove(["m1"])
    within.purge()
    assert within.speakers() == {"Maria", "Kim"}
