"""Descriptions of the user's exchanges are searched, but never shown; the model is scripted."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.compose.idle import JobResources, build_jobs
from assistant.errors import StoreError
from assistant.idle.jobs.document_expansion import DocumentExpansionJob
from assistant.idle.jobs.expansion_prompt import ABOUT, EVERYTHING, QUESTIONS
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.document_expansion import DESCRIBED
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.transcript.derived_outputs import DerivedOutputs
from assistant.settings import Settings
from tests.support.describing import ABOUT as STROLL
from tests.support.describing import OTHER, QUESTION, here, made
from tests.support.forgetting import bench
from tests.support.remains import found
from tests.support.scripted_model import ScriptedModel

QUERY = "spotted wading birds"
WORDS = "strolled around water"
"""Words that only the model used."""
FOUND = 0.4
"""The minimum cosine with a text that shares words with the query."""


def searched(index: UserIndex) -> int:
    """Number of vectors of descriptions that are searched."""
    return int(index._expansions._vectors.present.sum())


# -- created -------------------------------------------------------------------------------------


async def test_an_exchange_is_described_and_found_by_the_description(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        before = await at.score(WORDS, exchange)
        assert await at.work.missing(9) == [exchange.id]
        await at.describe(exchange)
        assert await at.work.missing(9) == []
        [content] = at.derived().values()
        assert (content["about"], content["questions"]) == (STROLL, [QUESTION])
        assert await at.score(WORDS, exchange) > before + FOUND
        assert await at.score(QUERY, exchange) > FOUND
        [request] = at.llm.requests
        assert (request.temperature, request.lane) == (0, "background")


async def test_a_description_is_never_shown(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.describe(exchange)
        recalled = await at.bench.memory.recall(WORDS, 30)
        assert recalled.memories
        for each in recalled.memories:
            assert "strolled" not in repr(each)


async def test_the_exchanges_shown_to_the_model_are_sources_of_the_description(
    tmp_path: Path,
) -> None:
    async with here(tmp_path) as at:
        first = await at.tell("My sister Ines has a new boat at the lake.")
        second = await at.tell("She took me out on it yesterday morning.")
        third = await at.tell("My tooth hurts a lot today.")
        await at.describe(first, second, third)
        shown = [request.messages[-1].content for request in at.llm.requests]
        assert "Ines" in shown[1]
        assert "boat" not in shown[2]
        derived = DerivedOutputs(at.bench.transcript, "ada")
        await at.bench.forgetting.hide([first.id], ())
        assert set(derived.of(DESCRIBED)) == {third.id}


async def test_exchanges_that_state_nothing_are_not_described(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchanges = [await at.tell(said) for said in ("Thanks!", "What time is it in Oslo?")]
        await at.describe(*exchanges)
        assert at.llm.requests == []
        assert await at.work.missing(9) == []


async def test_invented_descriptions_are_not_searched(tmp_path: Path) -> None:
    async with here(tmp_path, (made("Barnaby strolled around water.", "Who is Zoe?"),)) as at:
        exchange = await at.tell()
        await at.describe(exchange)
        [content] = at.derived().values()
        assert (content["about"], content["questions"]) == ("", [])


@pytest.mark.parametrize(
    ("settings", "language", "parts"),
    [
        ({"describe": "on", "expand": "off"}, "en-GB", [(ABOUT,)]),
        ({"describe": "off", "expand": "on"}, "en", [(QUESTIONS,)]),
        ({"describe": "on", "expand": "on"}, "auto", [(ABOUT, QUESTIONS)]),
        ({"describe": "on", "expand": "on"}, "de", []),
        ({"describe": "off", "expand": "off"}, "en", []),
    ],
)
async def test_the_settings_decide_whether_descriptions_and_questions_are_written(
    tmp_path: Path, settings: dict[str, str], language: str, parts: list[tuple[str, ...]]
) -> None:
    values = {"idle": settings, "persona": {"language": language}}
    async with here(tmp_path) as at:
        bench = at.bench
        resources = JobResources(
            Settings.model_validate(values), bench.transcript, bench.memory, at.llm
        )
        built = [each for each in build_jobs(resources) if isinstance(each, DocumentExpansionJob)]
        assert [each._parts for each in built] == parts


# -- not created twice --------------------------------------------------------------------------


async def test_the_model_is_not_asked_again_about_the_same_words(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.describe(exchange)
        await at.describe(exchange)
        fewer = at.again((ABOUT,), at.llm)
        assert await fewer.missing(9) == [exchange.id]
        await fewer.run([exchange.id])
        assert len(at.llm.requests) == 1
        [content] = at.derived().values()
        assert (content["about"], content["questions"]) == (STROLL, [])
        more = at.again(EVERYTHING, at.llm)
        await more.run([exchange.id])
        assert len(at.llm.requests) == 2
        other = ScriptedModel((made(OTHER),))
        other.name = "another"
        again = at.again((ABOUT,), other)
        await again.run([exchange.id])
        assert len(other.requests) == 1


async def test_descriptions_are_searched_after_a_restart(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.describe(exchange)
        score = await at.score(WORDS, exchange)
    async with here(tmp_path) as later:
        assert await later.score(WORDS, exchange) == pytest.approx(score, abs=0.02)
        await asyncio.to_thread(later.bench.memory.rebuild, later.bench.transcript)
        assert await later.score(WORDS, exchange) == pytest.approx(score, abs=0.02)
        assert later.llm.requests == []


async def test_a_description_of_text_that_has_changed_is_not_searched(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        exchange = await at.tell()
        await at.describe(exchange)
        [memory] = [each for each in at.bench.memory.index.outlines() if each.endswith("-user")]
        desk = at.bench.memory
        await asyncio.to_thread(desk.change, [memory], _reworded)
        assert await at.score(WORDS, exchange) < FOUND
    async with here(tmp_path) as later:
        assert await later.score(WORDS, exchange) < FOUND


def _reworded(memory: Memory) -> Memory:
    return replace(memory, text="I was at the office all day long.")


# -- what goes wrong ----------------------------------------------------------------------------


async def test_after_a_store_failure_the_exchange_is_still_to_be_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise StoreError("The disk is full.")

    async with here(tmp_path) as at:
        exchange = await at.tell()
        with monkeypatch.context() as broken:
            broken.setattr(DerivedOutputs, "keep", fails)
            with pytest.raises(StoreError):
                await at.describe(exchange)
        assert await at.work.missing(9) == [exchange.id]
        assert await at.score(WORDS, exchange) < FOUND


# -- forgotten ----------------------------------------------------------------------------------


async def test_a_description_is_hidden_with_any_of_its_sources_and_comes_back(
    tmp_path: Path,
) -> None:
    async with here(tmp_path) as at:
        first = await at.tell("My sister Ines has a new boat at the lake.")
        second = await at.tell("She strolled along with me there, and that was it.")
        await at.describe(second)
        score = await at.score(QUERY, second)
        assert score > FOUND
        hidden = await at.bench.forgetting.hide([first.id], ())
        assert await at.score(QUERY, second) < FOUND
        recalled = await at.bench.memory.recall("strolled along", 30)
        assert second.user_text in {each.text for each in recalled.memories}
        await at.bench.forgetting.undo(hidden.id)
        assert await at.score(QUERY, second) == pytest.approx(score, abs=0.01)


async def test_no_byte_is_left_of_descriptions_of_forgotten_words(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        first = await at.tell("My sister Ines has a new boat at the lake.")
        second = await at.tell("She strolled along with me there, and that was it.")
        await at.describe(first, second)
        assert searched(at.bench.memory.index) == 4
    assert found(tmp_path, {STROLL, QUESTION}, []) != []
    async with here(tmp_path, (made(OTHER, "What is at home?"),)) as later:
        await later.bench.forgetting.hide([first.id], ())
        later.bench.pass_time(61)
        assert await later.bench.forgetting.purge_due()
        assert found(tmp_path, {STROLL, QUESTION}, []) == []
        assert searched(later.bench.memory.index) == 0
        assert await later.score(QUERY, second) < FOUND
        assert await later.work.missing(9) == [second.id]
        await later.describe(second)
        assert "Ines" not in later.llm.requests[0].messages[-1].content


async def test_hidden_descriptions_stay_hidden_after_a_restart(tmp_path: Path) -> None:
    async with here(tmp_path) as at:
        first = await at.tell("My sister Ines has a new boat at the lake.")
        second = await at.tell("She strolled along with me there, and that was it.")
        await at.describe(second)
        hidden = await at.bench.forgetting.hide([first.id], ())
        talk = at.bench.window.talk
    async with bench(tmp_path, talk, at.bench.clock[0]) as later:
        later_here = type(at)(later, at.llm, at.work)
        assert await later_here.score(QUERY, second) < FOUND
        await later.forgetting.undo(hidden.id)
        assert await later_here.score(QUERY, second) > FOUND
