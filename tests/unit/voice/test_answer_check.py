"""What the language model claims to have done is cut out of its answer."""

import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from assistant.voice.answer_check import NOT_ANSWERED, NOT_DONE, AnswerCheck, CheckedText
from assistant.voice.claims import DEADLINE_S, ClaimDetector, is_claim
from assistant.voice.speech.clauses import clauses_of
from tests.support.claiming import ClaimingWords

INNOCENT = (
    "Rome is the capital of Italy and one of its oldest cities. <think>Numbers?</think> It has "
    "about 2.8 million people, who pay $5 for a coffee.\n\n- One thing more\n```\ncode\n``` Bye now"
)


@asynccontextmanager
async def checking(
    *claimed: str, deadline_s: float = DEADLINE_S, **fails: float | bool
) -> AsyncIterator[AnswerCheck]:
    words = ClaimingWords(*claimed, **fails)  # type: ignore[arg-type]
    detector = ClaimDetector(words, deadline_s)
    try:
        yield AnswerCheck(detector, "en")
    finally:
        detector.close()


@asynccontextmanager
async def answering(asked: str, pending: float = 0.0) -> AsyncIterator[AnswerCheck]:
    """Checks an answer to a user who asks for something if the words contain "put". That a kettle
    is on may be a claim."""
    detector = ClaimDetector(ClaimingWords(faint=("kettle is on",), asking=("put",)))
    try:
        yield AnswerCheck(detector, "en", asked, pending)
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
    async with checking("never") as check:
        pieces = await written(check, *deltas)
    assert text_of(pieces) == INNOCENT
    assert [clause for piece in pieces for clause in piece.clauses] == clauses_of(INNOCENT)
    assert not check.ended


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
        assert text_of(pieces) == f"Pasta takes nine minutes. But {NOT_DONE}"
        assert check.ended


async def test_an_answer_that_begins_with_a_claim_is_only_the_refusal() -> None:
    async with checking("set a timer") as check:
        assert text_of(await written(check, "I've set a timer.")) == NOT_DONE


@pytest.mark.parametrize("step", [1, 1000])
async def test_a_line_of_the_prompt_is_not_read_out(step: int) -> None:
    said = " (You can't look this up. Say that you don't know it.) It will be sunny."
    async with checking("never") as check:
        pieces = await written(check, *(said[at : at + step] for at in range(0, len(said), step)))
        assert text_of(pieces) == NOT_ANSWERED
        assert [clause.spoken for piece in pieces for clause in piece.clauses] == [NOT_ANSWERED]
        assert check.ended


HELP, TIP = "I can help you with it, if you like.", "Here is a tip for you."
LONG = "I am here to help you with anything that you need, so just tell me what it is."


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"Hello! {f'{HELP} {TIP} ' * 9}", f"Hello! {f'{HELP} {TIP} ' * 2}{HELP}"),
        ("I like it a lot! " * 9, "I like it a lot! " * 3),
        ("Ich mag das sehr gern. " * 9, "Ich mag das sehr gern. " * 3),
        (f"{LONG} " * 9, f"{LONG} " * 4),
    ],
)
async def test_an_answer_that_goes_round_in_a_circle_is_ended(
    step: int, said: str, kept: str
) -> None:
    check = AnswerCheck(None, "en")
    pieces = await written(check, *(said[at : at + step] for at in range(0, len(said), step)))
    assert text_of(pieces) == kept.rstrip()
    assert check.ended


@pytest.mark.parametrize(
    "said",
    [
        "No. Not yet. No. Not yet. No. Not yet. Maybe later.",
        "I like tea, and so do you. I like tea.",
        "Knead it. Let it rest for an hour. Shape it. Let it rest for an hour. Then bake it.",
        "Breathe in for two seconds. Hold it for two seconds. Breathe out for two seconds. Hold it "
        "for two seconds. Breathe in for two seconds. Breathe out for two seconds.",
    ],
)
async def test_what_is_repeated_once_is_left_alone(said: str) -> None:
    check = AnswerCheck(None, "en")
    assert text_of(await written(check, said)) == said
    assert not check.ended


async def test_brackets_are_left_alone_in_other_languages() -> None:
    said = "(Es regnet.) Ja."
    assert text_of(await written(AnswerCheck(None, "de"), said)) == said


async def test_consent_that_goes_round_in_a_circle_is_refused() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "Sure! " * 9)) == NOT_DONE


async def test_brackets_later_in_an_answer_are_left_alone() -> None:
    async with checking("never") as check:
        said = "It rained (a little) all day."
        assert text_of(await written(check, said)) == said
        assert not check.ended


async def test_the_words_of_the_refusal_have_their_places_in_the_answer() -> None:
    async with checking("I'll call") as check:
        pieces = await written(check, "Good idea. I'll call him now. Bye.")
    answer = text_of(pieces)
    words = [word for piece in pieces for clause in piece.clauses for word in clause.words]
    assert [answer[: word.source_end].split()[-1] for word in words] == answer.split()


async def test_a_clause_is_judged_with_what_precedes_it_in_its_sentence() -> None:
    async with checking("plumber for you") as check:
        pieces = await written(check, "Yes, I can get hold of the plumber for you. Bye.")
    assert text_of(pieces) == f"Yes, I can get hold of the plumber but {NOT_DONE}"


async def test_only_the_last_clauses_of_a_very_long_sentence_are_judged() -> None:
    words = ClaimingWords()
    detector = ClaimDetector(words)
    long = "and one more thing that I would like to say, " * 8
    await written(AnswerCheck(detector, "en"), f"There is this, {long}bye.")
    detector.close()
    assert max(len(text.split()) for text in words.asked) <= 40 + 30
    assert words.asked[-1].endswith("bye.")


ASKED = "Could you put the kettle on?"


async def test_after_a_likely_request_even_a_faint_claim_is_refused() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "The kettle is on.")) == NOT_DONE


async def test_agreement_to_a_likely_request_is_a_promise() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "Yes, I would be glad to.")) == NOT_DONE


async def test_a_question_about_a_likely_request_is_no_promise() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "Sure! Which one?")) == "Sure! Which one?"


def test_what_others_have_done_must_resemble_a_claim_more() -> None:
    assert is_claim("I sent him a message.", 0.7, 0.01)
    assert not is_claim("She sent him a message.", 0.7, 0.01)
    assert is_claim("Your message was sent.", 0.98, 0.01)


async def test_in_ordinary_talk_the_same_words_are_spoken() -> None:
    async with answering("What is on the cooker?") as check:
        assert text_of(await written(check, "The kettle is on.")) == "The kettle is on."


async def test_a_request_counts_until_it_is_answered_without_a_question() -> None:
    async with answering("Yes, please.", pending=0.25) as check:
        assert await check.request() == 0.25
        assert text_of(await written(check, "The kettle is on.")) == NOT_DONE


async def test_consent_to_a_likely_request_waits_for_the_next_clause() -> None:
    async with answering(ASKED) as check:
        assert await check.feed("Sure! Which kettle ") == []
        (piece,) = await check.feed("do you mean? ")
    assert piece.text == "Sure! Which kettle do you mean?"
    assert [clause.spoken for clause in piece.clauses] == ["Sure!", "Which kettle do you mean?"]


async def test_consent_is_not_heard_before_a_claim() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "Of course! ", "The kettle is on.")) == NOT_DONE
        assert check.ended


async def test_nothing_but_consent_to_a_likely_request_is_refused() -> None:
    async with answering(ASKED) as check:
        assert text_of(await written(check, "Sure thing!")) == NOT_DONE
        assert check.ended


async def test_consent_in_ordinary_talk_is_passed_on_at_once() -> None:
    async with answering("Can you explain that?") as check:
        (piece,) = await check.feed("Sure! It ")
        assert piece.text == "Sure!"


async def test_consent_later_in_an_answer_is_passed_on_at_once() -> None:
    async with answering(ASKED) as check:
        pieces = await check.feed("That is a kettle. Sure! It ")
    assert [piece.text for piece in pieces] == ["That is a kettle.", " Sure!"]


async def test_a_failure_of_the_model_after_consent_is_excused_alone() -> None:
    async with answering(ASKED) as check:
        pieces = [*await check.feed("Sure! I thi"), check.end_with("Sorry.")]
    assert text_of(pieces) == "Sorry."


async def test_a_failure_of_the_model_is_excused_after_what_was_passed_on() -> None:
    async with checking("never") as check:
        pieces = [*await check.feed("Good idea. I thi"), check.end_with("Sorry.")]
    assert text_of(pieces) == "Good idea. Sorry."


async def test_a_late_judgement_does_not_hold_the_answer() -> None:
    async with checking("set a timer", deadline_s=0.01, takes_s=0.3) as check:
        assert text_of(await written(check, "I've set a timer.")) == "I've set a timer."


async def test_without_a_deadline_even_a_late_judgement_counts() -> None:
    async with checking("set a timer", deadline_s=math.inf, takes_s=2 * DEADLINE_S) as check:
        assert text_of(await written(check, "I've set a timer.")) == NOT_DONE


async def test_a_failing_classifier_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with checking("set a timer", fails=True) as check:
            text = "I've set a timer. It rings soon."
            assert text_of(await written(check, text)) == text
    assert [record.message for record in caplog.records] == ["the judgement of clauses failed"]


async def test_the_event_loop_is_free_while_a_clause_is_judged() -> None:
    words = ClaimingWords("never")
    detector = ClaimDetector(words)
    await detector.claim("Hello.")
    detector.close()
    assert words.thread.startswith("claims")
