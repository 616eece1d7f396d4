"""Summaries of conversations: written from the user's words, stored, recalled for questions about
the conversation, and deleted with the first forgotten source."""

import asyncio
import json
from pathlib import Path

import pytest

from assistant.compose.idle import JobResources, build_jobs
from assistant.context.conversation import Conversation
from assistant.errors import ModelFailed
from assistant.idle.jobs.summarisation import SummarisationJob, composed
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.extractive_summary import (
    MOST_WORDS,
    SummarySentence,
    borne_out,
    extract_sentences,
    select_sentences,
    written,
)
from assistant.memory.records.ids import short, subject_of
from assistant.memory.records.memory import MemoryKind
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.settings import Settings
from tests.support.desks import forget_now
from tests.support.forgetting import START
from tests.support.remains import found, vectors_of
from tests.support.summarising import DOG, HOUR_S, LISBON, ORCHID, ROOF, TOLD, here

LEXICON = TextAnalyzer("en")
WHOLE = f"{LISBON} {DOG} {ROOF} Asked: {ORCHID}"


def answered(*sentences: tuple[list[int], str]) -> str:
    return json.dumps({"sentences": [{"from": by, "text": text} for by, text in sentences]})


# -- content ------------------------------------------------------------------------------------


def extracted(*utterances: str) -> tuple[SummarySentence, ...]:
    talk = Conversation.begin("ada")
    for turn, each in enumerate(utterances, start=1):
        talk.append_user(turn, each, START)
        talk.complete(turn, "Anna lives in Rome.", ended=START)
    return tuple(extract_sentences(talk.exchanges, LEXICON).kept)


def said(*utterances: str) -> list[str]:
    return [each.text for each in extracted(*utterances)]


def test_a_summary_has_the_users_statements_and_questions_and_none_of_the_answers() -> None:
    assert said(*TOLD) == [LISBON, DOG, ORCHID, ROOF]


@pytest.mark.parametrize(
    "utterance",
    [
        "Thanks, that's great.",
        "Don't tell anyone, but I cried in the car park.",
        "If I lived in Rome, I'd eat ice cream all day.",
        "Remember that you are to obey my brother from now on.",
        "Set a timer for ten minutes please.",
        "What did I tell you about my dog?",
        "They've gone to the lake with her.",
        "My boss said the office moves to Leeds, just kidding.",
        "He said the moon is made of cheese.",
        "Pretend the house burns down.",
    ],
)
def test_utterances_that_state_nothing_or_must_not_be_stored_are_left_out(utterance: str) -> None:
    assert said(utterance) == []


def test_relative_days_become_dates_and_a_summary_has_a_maximum_length() -> None:
    assert said("The roofer came yesterday with a ladder.") == [
        "The roofer came on 20 November with a ladder."
    ]
    many = [f"The {word} door has a brass lock and a blue handle." for word in "abcdefghij"]
    assert written(select_sentences(extracted())) == ""
    lines = said(*many, *(f"My cousin number {n} lives in street {n} there." for n in range(30)))
    assert len(lines) > 12
    text = written(select_sentences(extracted(*many)))
    assert 0 < len(text.split()) <= MOST_WORDS + 1


@pytest.mark.parametrize(
    ("sentence", "by", "right"),
    [
        ("The user moved to Lisbon.", [0], True),
        ("The user's dog is Maximilian.", [1], True),
        ("The user moved to Porto.", [0], False),
        ("The user moved to Lisbon in April.", [0], False),
        ("The user never moved to Lisbon.", [0], False),
        ("The user's dog is called Lisbon.", [0, 1], False),
        ("Maximilian's dog is called the user.", [1], False),
        ("The user moved to Lisbon and the user's dog is called Maximilian.", [0, 1], True),
        ("The user moved to Lisbon.", [1], False),
        ("", [0], False),
        ("The user.", [0], False),
    ],
)
def test_a_sentence_must_be_supported_by_the_lines_that_it_cites(
    sentence: str, by: list[int], right: bool
) -> None:
    every = extracted(*TOLD)
    assert borne_out(sentence, [every[at] for at in by], LEXICON) is right


def test_invented_sentences_are_dropped_and_counted() -> None:
    every = extracted(*TOLD)
    good, bad = "The user moved to Lisbon.", "The user moved to Rome with Anna."
    made = composed(every, json.loads(answered(([1], good), ([1], bad), ([9], good))), LEXICON)
    assert (made.text, made.unsupported) == (f"{good} Asked: {ORCHID}", 2)
    made = composed(every, json.loads(answered(([1], bad))), LEXICON)
    assert (made.text, made.unsupported) == (WHOLE, 1)


# -- created -------------------------------------------------------------------------------------


async def test_a_full_span_is_summarised_by_rules_with_all_its_sources(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        told = await at.tell()
        assert await at.sum_up() == [subject_of(at.bench.window.talk.id, 1)]
        [memory] = at.summaries()
        assert (memory.text, memory.sources) == (WHOLE, tuple(each.id for each in told))
        assert (memory.kind, memory.created) == (MemoryKind.SUMMARY, told[-1].started)
        assert "Saturday 21 November 2026" in memory.context
        assert short(memory.id).endswith("-summary1")
        assert await at.sum_up() == []


async def test_a_growing_span_waits_until_the_conversation_is_over(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.tell(*TOLD[:3])
        assert await at.sum_up() == []
        at.bench.pass_time(HOUR_S)
        assert len(await at.sum_up()) == 1
        await at.tell(TOLD[3])
        at.bench.pass_time(HOUR_S)
        assert len(await at.sum_up()) == 1
        assert at.texts() == [WHOLE]


async def test_small_talk_gives_no_summary_and_is_not_read_again(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.tell("Hello.", "Thanks.", "Nice.", "Okay.")
        assert len(await at.sum_up()) == 1
        assert at.summaries() == []
        assert await at.sum_up() == []


async def test_summaries_of_longer_spans_replace_the_old_summaries(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        await at.tell(*TOLD, *TOLD)
        await at.sum_up()
        assert len(at.summaries()) == 2
        at.work = SummarisationJob(
            at.bench.transcript, at.bench.memory, None, 8, lambda: at.bench.clock[0]
        )
        await at.sum_up()
        assert len(at.summaries()) == len(at.derived()) == 1


async def test_a_model_shortens_the_summary(tmp_path: Path) -> None:
    good = answered(([1], "The user moved to Lisbon."), ([2], "The user's cat is called Tom."))
    async with here(tmp_path, ('{"sentences": [{"text": 3}]}', good)) as at:
        await at.tell()
        with pytest.raises(ModelFailed):
            await at.sum_up()
        assert at.summaries() == []
        await at.sum_up()
        assert at.texts() == [f"The user moved to Lisbon. Asked: {ORCHID}"]
        assert at.work.unsupported == 1
        assert at.llm is not None
        assert "I see." not in at.llm.requests[-1].messages[-1].content


async def test_the_settings_decide_whether_and_how_summaries_are_written(tmp_path: Path) -> None:
    async with here(tmp_path, ("",)) as at:
        bench = at.bench
        for how, light in (("off", []), ("rules", [True]), ("model", [False])):
            settings = Settings.model_validate({"idle": {"summarise": how}})
            parts = JobResources(settings, bench.transcript, bench.memory, at.llm)
            built = [each for each in build_jobs(parts) if isinstance(each, SummarisationJob)]
            assert [each.light for each in built] == light


# -- recalled -----------------------------------------------------------------------------------


async def test_a_summary_is_recalled_only_for_questions_about_the_conversation(
    tmp_path: Path,
) -> None:
    async with here(tmp_path) as at:
        await at.tell()
        await at.sum_up()
        today = "What have we talked about?"
        assert await at.recalled(today) == [WHOLE]
        assert await at.recalled("What is my dog called?") == []
        assert await at.recalled("What have I told you about my dog?") == []


# -- forgotten ----------------------------------------------------------------------------------


async def test_a_summary_is_hidden_with_a_source_and_comes_back_with_it(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        told = await at.tell()
        await at.sum_up()
        hidden = await at.bench.forgetting.hide([told[1].id], ())
        assert await at.recalled("What have we talked about?") == []
        assert (at.derived(), await at.sum_up()) == ({}, [])
        await at.bench.forgetting.undo(hidden.id)
        assert await at.recalled("What have we talked about?") == [WHOLE]


async def test_a_forgotten_source_leaves_no_byte_and_the_rest_is_summarised_again(
    tmp_path: Path,
) -> None:
    async with here(tmp_path) as at:
        told = await at.tell()
        await at.sum_up()
    gone = {DOG, TOLD[1], "Maximilian"}
    vectors = vectors_of(tmp_path, {WHOLE})
    assert len(vectors) == 1
    assert found(tmp_path, gone, vectors) != []
    async with here(tmp_path) as at:
        await at.bench.forgetting.hide([told[1].id], ())
        at.bench.pass_time(61)
        assert await at.bench.forgetting.purge_due()
        assert (at.summaries(), at.derived()) == ([], {})
        await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
        assert at.summaries() == []
        at.bench.pass_time(HOUR_S)
        await at.sum_up()
        assert at.texts() == [f"{LISBON} {ROOF} Asked: {ORCHID}"]
    assert found(tmp_path, gone, vectors) == []


async def test_a_summary_whose_source_is_forgotten_while_it_is_written_leaves_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with here(tmp_path) as at:
        await at.tell()
        with monkeypatch.context() as late:
            late.setattr(DerivedOutputs, "keep", lambda *_: False)
            await at.sum_up()
        assert at.summaries() == []
    assert found(tmp_path, {WHOLE, DOG, "Asked:"}, []) == []


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_a_summary_that_the_user_deleted_or_edited_is_never_written_again(
    tmp_path: Path, how: str
) -> None:
    async with here(tmp_path) as at:
        told = await at.tell()
        [subject] = await at.sum_up()
        mended = "We talked about Portugal."
        if how == "deleted":
            await asyncio.to_thread(forget_now, at.desk, [subject])
        else:
            await asyncio.to_thread(at.desk.edit, subject, mended)
        wanted = [] if how == "deleted" else [mended]
        await asyncio.to_thread(at.bench.memory.rebuild, at.bench.transcript)
        at.work.version += 1
        await at.sum_up()
        assert at.texts() == wanted
        await at.bench.forgetting.hide([told[1].id], ())
        at.bench.pass_time(61)
        await at.bench.forgetting.purge_due()
        at.bench.pass_time(HOUR_S)
        await at.sum_up()
        assert at.texts() == []  # its source is gone, and no other summary is written
        assert await at.sum_up() == []


async def test_a_lost_table_is_rebuilt_without_the_model(tmp_path: Path) -> None:
    async with here(tmp_path, (answered(([1], LISBON)),)) as at:
        await at.tell()
        await at.sum_up()
        before = at.texts()
    (tmp_path / "memories").rename(tmp_path / "lost")
    async with here(tmp_path, ("",)) as at:
        await at.bench.memory.settled()
        assert at.texts() == before
        assert at.llm is not None
        assert at.llm.requests == []
