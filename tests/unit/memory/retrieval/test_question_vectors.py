"""A question's vector: encoded ahead, replaced at the deadline, combined with earlier words."""

import asyncio
import time
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.question import Earlier, Question
from assistant.memory.retrieval.question_vectors import (
    ANSWERED_BEFORE,
    SAID_BEFORE,
    EncodedQuestion,
    QuestionEncoder,
)
from tests.support.encoders import HashingEncoder, Held
from tests.support.patience import PATIENCE_S


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def encoder(held: Held) -> Iterator[QueryEncoder]:
    made = QueryEncoder(held)
    yield made
    held.may_go_on.set()
    made.close()


@pytest.fixture
def asking(encoder: QueryEncoder) -> QuestionEncoder:
    return QuestionEncoder(encoder, TextAnalyzer("en"), lambda: {"user"})


def leisure() -> float:
    return time.monotonic() + PATIENCE_S


def same(one: NDArray[np.float32] | None, text: str) -> bool:
    assert one is not None
    return bool(np.allclose(one, HashingEncoder().encode([text])[0], atol=1e-6))


async def encoded(held: Held, text: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while text not in held.encoded:
            await asyncio.sleep(0.001)


async def known(encoder: QueryEncoder, text: str) -> None:
    """Waits until the text's vector is cached."""
    async with asyncio.timeout(PATIENCE_S):
        while text not in encoder.texts():
            await asyncio.sleep(0.001)


async def test_a_question_encoded_ahead_is_ready(
    asking: QuestionEncoder, encoder: QueryEncoder, held: Held
) -> None:
    asking.ahead("where is my bike")
    await known(encoder, "where is my bike")
    asked = await asking.ask("where is my bike", leisure())
    assert same(asked.vector, "where is my bike")
    assert not asked.late
    assert held.encoded == ["where is my bike"]


async def test_a_question_never_waits_for_its_own_beginnings(
    asking: QuestionEncoder, held: Held
) -> None:
    asking.ahead("slow where")
    assert held.begun.wait(PATIENCE_S)
    for words in ("where is", "where is my"):  # these wait, and the newer one replaces the older
        asking.ahead(words)
    asked = await asking.ask("where is my bike", leisure())
    assert same(asked.vector, "where is my bike")
    asking.ahead("where else is")
    asking.ahead("where else is it")
    held.may_go_on.set()
    await encoded(held, "where else is it")
    assert held.encoded == ["where is my bike", "slow where", "where else is it"]


async def test_the_same_words_are_not_encoded_twice_at_once(
    asking: QuestionEncoder, held: Held
) -> None:
    asking.ahead("slow but the same")
    assert held.begun.wait(PATIENCE_S)
    asyncio.get_running_loop().call_later(0.01, held.may_go_on.set)
    asked = await asking.ask("slow but the same", leisure())
    assert same(asked.vector, "slow but the same")
    assert held.encoded == ["slow but the same"]


async def test_at_the_deadline_the_vector_of_the_newest_words_is_used(
    asking: QuestionEncoder, encoder: QueryEncoder
) -> None:
    asking.ahead("where is my bike")
    await known(encoder, "where is my bike")
    asked = await asking.ask("slow where is my bike now", time.monotonic())
    assert asked.late
    assert same(asked.vector, "where is my bike")
    assert asked.question.words == "slow where is my bike now"


async def test_without_a_vector_only_the_words_decide(asking: QuestionEncoder) -> None:
    asked = await asking.ask("slow where is my bike", time.monotonic())
    assert asked.late
    assert asked.vector is None


async def test_only_the_final_words_of_a_turn_remain_cached(
    asking: QuestionEncoder, encoder: QueryEncoder, held: Held
) -> None:
    asking.ahead("I hate")
    await known(encoder, "I hate")
    await asking.ask("I hate my boss", leisure())  # withdrawn: the user went on
    await asking.ask("I hate my boss not", leisure())
    assert set(encoder.texts()) == {"I hate", "I hate my boss", "I hate my boss not"}
    asking.over("I hate my boss not")
    assert encoder.texts() == ["I hate my boss not"]
    asked = await asking.ask("slow another turn", time.monotonic())
    assert asked.vector is None, "words of one turn don't stand in for those of another"


async def test_nothing_remains_cached_of_speech_that_did_not_become_a_turn(
    asking: QuestionEncoder, encoder: QueryEncoder, held: Held
) -> None:
    asking.ahead("said to somebody else")
    await encoded(held, "said to somebody else")
    asking.ahead("slow said to somebody else")
    assert held.begun.wait(PATIENCE_S)
    asking.over(None)
    held.may_go_on.set()
    await encoded(held, "slow said to somebody else")
    encoder.close()
    await asyncio.sleep(0.01)
    assert encoder.texts() == []


async def test_without_memories_nothing_is_encoded_ahead(encoder: QueryEncoder, held: Held) -> None:
    QuestionEncoder(encoder, TextAnalyzer("en"), set).ahead("where is my bike")
    encoder.close()
    assert held.encoded == []


# -- follow-ups ---------------------------------------------------------------------------------

DOG = Earlier("My dog Max is at the vet.", "I hope he gets well.")


async def test_a_follow_up_is_searched_for_together_with_the_earlier_exchange(
    asking: QuestionEncoder, encoder: QueryEncoder
) -> None:
    said, answered = encoder.encode_documents([DOG.said, DOG.answered])
    asked = await asking.ask("and what does he like?", leisure(), [DOG])
    own = HashingEncoder().encode(["and what does he like?"])[0]
    total = own + SAID_BEFORE * said + ANSWERED_BEFORE * answered
    assert asked.vector is not None
    np.testing.assert_allclose(asked.vector, total / np.linalg.norm(total), atol=1e-6)
    assert asked.question.words == f"{DOG.said} and what does he like?"
    assert asked.question.text == "and what does he like?"
    assert encoder.draft() is not None
    assert same(encoder.draft(), "and what does he like?"), (
        "the cached vector is that of the question only"
    )


async def test_an_earlier_exchange_is_not_encoded_for_a_follow_up(
    asking: QuestionEncoder, held: Held
) -> None:
    asked = await asking.ask("and what does he like?", leisure(), [DOG])
    assert held.encoded == ["and what does he like?"]
    assert same(asked.vector, "and what does he like?")
    assert DOG.said in asked.question.words


async def test_a_self_contained_question_is_left_unchanged(asking: QuestionEncoder) -> None:
    text = "Which shop sells rye bread on Sundays?"
    asked = await asking.ask(text, leisure(), [DOG])
    assert same(asked.vector, text)
    assert asked.question.words == text


async def test_a_second_follow_up_refers_to_the_same_exchange_as_the_first(
    asking: QuestionEncoder,
) -> None:
    earlier = [Earlier("It rains in Ghent all day."), DOG, Earlier("How old is he?", "Nine.")]
    asked = await asking.ask("and what does he like?", leisure(), earlier)
    assert asked.question.words.startswith(DOG.said)


async def test_a_follow_up_without_a_vector_is_matched_by_words(asking: QuestionEncoder) -> None:
    asked = await asking.ask("slow and what does he like?", time.monotonic(), [DOG])
    assert asked.vector is None
    assert DOG.said in asked.question.words


def test_a_question_without_any_vector_is_searched_for_by_words_alone() -> None:
    question, vector = Question("q", "q", "q", None), np.ones(2, np.float32)
    assert not EncodedQuestion(question, vector, late=True).by_words_alone
    assert not EncodedQuestion(question, None, late=False, stronger=vector).by_words_alone
    assert EncodedQuestion(question, None, late=True).by_words_alone
