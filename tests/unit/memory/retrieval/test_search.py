"""A search compared with the plain computation, which scores every memory one by one."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.language.sentences import stated
from assistant.language.stemming import TextAnalyzer
from assistant.memory.records.arrays import NONE
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval import search
from assistant.memory.retrieval.question import read_question
from assistant.memory.retrieval.ranking import Evidence, Features, Neighbours, Ranking, fuse
from assistant.memory.retrieval.user_index import UserIndex
from tests.support.user_memory import user_index

NOW = datetime(2026, 6, 1, tzinfo=UTC)
COUNT, TURNS, DIMENSIONS = 180, 6, 48
DAY = timedelta(days=1)
SAID = "dog walk tea coffee Lisbon work train music rain friend book garden Ann moved to"
WORDS = SAID.split()
SPEAKERS = ("user", "assistant", "Ann Lee")
WEIGHTS = Ranking()


@cache
def memories() -> list[Memory]:
    draw = np.random.default_rng(4)
    return [
        Memory(
            id=f"m{number}",
            user_id="ada",
            kind=MemoryKind.EXCHANGE if number % 7 else MemoryKind.FACT,
            text=" ".join(draw.choice(WORDS, 7)) + ("?" if number % 5 == 0 else "."),
            created=NOW - 400 * DAY + number * DAY,
            speaker=SPEAKERS[number % 3],
            conversation=f"c{number // TURNS}" if number % 7 else "",
            context=f"said on a rainy day {number % 9}",
            importance=float(draw.random()),
            confidence=float(draw.random()),
            last_used=NOW - DAY * int(draw.integers(1, 90)) if number % 2 else None,
            uses=int(draw.integers(0, 9)) if number % 2 else 0,
            feedback=int(draw.integers(-3, 4)),
            sources=(f"x{number // 2}",),
            superseded_by=f"m{number + 9}" if number % 20 == 4 else None,
            pinned=number % 31 == 0,
            never_recall=number % 29 == 0,
        )
        for number in range(COUNT)
    ]


def vectors() -> NDArray[np.float32]:
    drawn = np.random.default_rng(5).normal(size=(COUNT, DIMENSIONS))
    drawn[1::4] = drawn[::4] + 0.3 * drawn[1::4]  # some are alike
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn[11] = np.nan  # has no vector yet
    return np.asarray(drawn, np.float32)


def features(known: list[Memory]) -> Features:
    place = {memory.id: at for at, memory in enumerate(known)}
    successors = [place.get(each.superseded_by or "", NONE) for each in known]
    return Features(
        age_days=np.array([(NOW - each.created) / DAY for each in known]),
        unused_days=np.array([(NOW - (each.last_used or each.created)) / DAY for each in known]),
        importance=np.array([each.importance for each in known]),
        confidence=np.array([each.confidence for each in known]),
        uses=np.array([float(each.uses) for each in known]),
        feedback=np.array([float(each.feedback) for each in known]),
        pinned=np.array([each.pinned for each in known]),
        superseded=np.array([each.superseded_by is not None for each in known]),
        speakers=[each.speaker for each in known],
        statement=np.array([float(stated(each.text)) for each in known]),
        asks=np.array(["?" in each.text for each in known]),
        successor=np.array(successors),
    )


def neighbours(known: list[Memory]) -> Neighbours:
    """The neighbours of memories that may be found; a hidden neighbour counts as none."""
    everything = memories()
    place = {memory.id: at for at, memory in enumerate(known)}

    def beside(memory: Memory, step: int) -> int:
        same = [each for each in everything if each.conversation == memory.conversation]
        at = [each.id for each in same].index(memory.id) + step
        if not memory.conversation or not 0 <= at < len(same):
            return NONE
        return place.get(same[at].id, NONE)

    return Neighbours(*(np.array([beside(each, step) for each in known]) for step in (-1, 1)))


def matching(own: NDArray[np.float32]) -> set[int]:
    """Rows that have a word of the question, and the turns around them: without a vector, nothing
    else can be found."""
    said = [memory.conversation for memory in memories()]
    found = set()
    for row in np.flatnonzero(own).tolist():
        same = [at for at, each in enumerate(said) if each and each == said[row]] or [row]
        place = same.index(row)
        found.update(same[max(0, place - 1) : place + 2])
    return found


def plain(
    index: UserIndex, question: str, vector: NDArray[np.float32] | None, exclude: set[str], k: int
) -> list[tuple[str, float]]:
    asked = read_question(question, SPEAKERS)
    everything = memories()
    own, context = index._lexical.score(asked.words)
    candidates = matching(own) if vector is None else set(range(COUNT))
    rows = [
        row
        for row, memory in enumerate(everything)
        if not memory.never_recall and exclude.isdisjoint(memory.sources)
        if row in candidates
    ]
    rounded = index.dense.quick.about(range(COUNT)).astype(np.float64)
    rounded[11] = 0 if vector is None else np.nan
    cosine = np.zeros(COUNT) if vector is None else rounded @ vector.astype(np.float64)
    known = [everything[row] for row in rows]
    by_words, by_context = (each[rows].astype(np.float64) for each in (own, context))
    given = Evidence(cosine[rows], by_words, by_context, asked.speaker)
    scores, _ = fuse(given, neighbours(known), features(known), WEIGHTS)
    content = TextAnalyzer("en").content
    stems = set(content(question))
    found = np.argsort(-scores, kind="stable")[: k + 6].tolist()
    adds = [at for at in found if stated(known[at].text) or set(content(known[at].text)) - stems]
    return [(known[at].id, float(scores[at])) for at in adds[:k]]


@pytest.mark.parametrize("by_meaning", [True, False])
@pytest.mark.parametrize("exclude", [set(), {"x7", "x8", "x40", "nobody's"}], ids=["all", "some"])
def test_a_search_finds_the_same_as_the_plain_computation(
    by_meaning: bool, exclude: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CANDIDATES", COUNT)  # so that the first pass keeps every memory
    index = user_index(DIMENSIONS, WEIGHTS)
    index.add(memories()[:90], vectors()[:90])
    index.add(memories()[90:], vectors()[90:])
    draw = np.random.default_rng(6)
    for number in range(5):
        question = " ".join(draw.choice(WORDS, 4)) + "?"
        drawn = draw.normal(size=DIMENSIONS) / 7
        vector = np.asarray(drawn, np.float32) if by_meaning else None
        found = index.search(
            read_question(question, index.speakers()), vector, k=12, now=NOW, exclude=exclude
        )
        expected = plain(index, question, vector, exclude, 12)
        assert [each.score for each in found] == pytest.approx([s for _, s in expected], abs=1e-5)
        assert [each.id for each in found] == [key for key, _ in expected], (number, question)
        for each in found:
            assert sum(each.parts.values()) == pytest.approx(each.score)
            assert set(each.words) <= set(question.rstrip("?").split())
