"""What the language model claims to have done is cut out of its answer."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from assistant.voice import claims
from assistant.voice.claims import NOT_DONE, AnswerCheck, CheckedText, ClaimDetector
from assistant.voice.speech.clauses import ClauseSplitter
from tests.support.claiming import ClaimingWords

INNOCENT = (
    "Rome is the capital of Italy and one of its oldest cities. <think>Numbers?</think> It has "
    "about 2.8 million people, who pay $5 for a coffee.\n\n- One thing more\n```\ncode\n``` Bye now"
)


@asynccontextmanager
async def checking(*claimed: str, **fails: float | bool) -> AsyncIterator[AnswerCheck]:
    detector = ClaimDetector(ClaimingWords(*claimed, **fails))  # type: ignore[arg-type]
    try:
        yield AnswerCheck(detector, "en")
    finally:
        detector.close()


async def written(check: AnswerCheck, *deltas: str) -> list[CheckedText]:
    pieces: list[CheckedText] = []
    for delta in deltas:
        pieces += await check.feed(delta)
    return [*pieces, *await check.finish()]


def text_of(pieces: list[CheckedText]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize("step", [1, 3, 1000])
async def test_an_answer_without_claims_is_cut_as_if_it_were_not_checked(step: int) -> None:
    deltas = [INNOCENT[at : at + step] for at in range(0, len(INNOCENT), step)]
    splitter = ClauseSplitter("en")
    expected = [clause for delta in deltas for clause in splitter.feed(delta)]
    expected += splitter.finish()
    async with checking("never") as check:
        pieces = await written(check, *deltas)
    assert text_of(pieces) == INNOCENT
    assert [clause for piece in pieces for clause in piece.clauses] == expected
    assert not check.claimed


async def test_a_clause_is_passed_on_as_soon_as_it_is_complete() -> None:
    async with checking("never") as check:
        assert await check.feed("That is a good idea,") == []
        (piece,) = await check.feed(" and you")
        assert piece.text == "That is a good idea,"


async def test_no_letter_of_a_claim_is_passed_on_and_the_answer_ends() -> None:
    async with checking("set a timer") as check:
        pieces = await written(
            check, "Pasta takes nine minutes. ", "I've set a timer, and ", "enjoy it."
        )
        assert text_of(pieces) == f"Pasta takes nine minutes. {NOT_DONE}".replace("  ", " ")
        assert check.claimed


async def test_an_answer_that_begins_with_a_claim_is_only_the_refusal() -> None:
    async with checking("set a timer") as check:
        assert text_of(await written(check, "I've set a timer.")) == NOT_DONE


async def test_the_words_of_the_refusal_have_their_places_in_the_answer() -> None:
    async with checking("I'll call") as check:
        pieces = await written(check, "Good idea. I'll call him now. Bye.")
    answer = text_of(pieces)
    words = [word for piece in pieces for clause in piece.clauses for word in clause.words]
    assert [answer[: word.source_end].split()[-1] for word in words] == answer.split()


async def test_a_failure_of_the_model_is_excused_after_what_was_passed_on() -> None:
    async with checking("never") as check:
        pieces = [*await check.feed("Good idea. I thi"), check.end_with("Sorry.")]
    assert text_of(pieces) == "Good idea. Sorry."


async def test_a_late_judgement_does_not_hold_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "DEADLINE_S", 0.01)
    async with checking("set a timer", takes_s=0.3) as check:
        assert text_of(await written(check, "I've set a timer.")) == "I've set a timer."


async def test_a_failing_classifier_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with checking("set a timer", fails=True) as check:
            text = "I've set a timer. It rings soon."
            assert text_of(await written(check, text)) == text
    assert [record.message for record in caplog.records] == ["the judgement of clauses failed"]


async def test_the_event_loop_is_free_while_a_clause_is_judged() -> None:
    words = ClaimingWords("never")
    detector = ClaimDetector(words)
    await detector.claims("Hello.")
    detector.close()
    assert words.thread.startswith("claims")
