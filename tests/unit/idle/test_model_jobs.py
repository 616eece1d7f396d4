"""The jobs that use a language model, and the language model that idle work loads when no session
has loaded one."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assistant.compose import idle as composing
from assistant.compose import memory as building
from assistant.compose.idle import open_idle_scheduler
from assistant.context.structured_output import FewShotPrompt, ask_for_json
from assistant.encryption.vault import open_vault
from assistant.errors import ModelFailed
from assistant.memory.records.ids import fact_id
from assistant.memory.records.memory import MemoryKind
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.paths import Home
from assistant.settings import Settings
from models.interfaces import Generation, Lane, Message
from models.llm.lazy import LazyLanguageModel
from tests.support import describing, extracting, summarising
from tests.support.desks import at_desk, newest, talked
from tests.support.encoders import HashingEncoder
from tests.support.extracting import MUCH, PEANUTS
from tests.support.scripted_model import ScriptedModel
from tests.unit.idle.test_speed_benchmark import FakeBenchmark

SCHEMA = {"type": "object"}
PROMPT = FewShotPrompt("Judge.", [("1. A", '{"1": 2}')])
RUBBISH = ("", "no JSON", '{"about": "Ines', "[]", '{"name": "Ines"}')

Opened = Callable[..., AbstractAsyncContextManager[Any]]
SUMMARY = json.dumps({"sentences": [{"from": [1], "text": summarising.LISBON}]})
JOBS: dict[str, tuple[Opened, str]] = {
    "extract": (extracting.here, MUCH),
    "describe": (describing.here, describing.made()),
    "summarise": (summarising.here, SUMMARY),
}
"""For each kind of job: a session that has something to do, and a valid answer from the model."""


# -- one answer ---------------------------------------------------------------------------------


async def test_only_the_last_message_differs_from_one_question_to_the_next() -> None:
    llm = ScriptedModel(['{"1": 5}'])
    assert await ask_for_json(llm, PROMPT, "1. B", SCHEMA, 24) == {"1": 5}
    assert await ask_for_json(llm, PROMPT, "1. C", SCHEMA, 24) == {"1": 5}
    one, two = llm.requests
    assert one.messages[:-1] == two.messages[:-1]
    assert one.messages[-1] == Message("user", "1. B")
    assert (one.lane, one.temperature, one.max_tokens) == (Lane.BACKGROUND, 0.0, 24)
    assert one.json_schema == SCHEMA


@pytest.mark.parametrize("kind", JOBS)
async def test_an_unusable_answer_fails_the_job_and_is_not_quoted_in_the_error(
    tmp_path: Path, kind: str
) -> None:
    here, answer = JOBS[kind]
    async with here(tmp_path, (*RUBBISH, answer)) as at:
        await at.tell()
        subjects = await at.work.missing(9)
        for _ in RUBBISH:
            with pytest.raises(ModelFailed) as failed:
                await at.work.run(subjects)
            assert "Ines" not in str(failed.value)
            assert failed.value.__cause__ is None
        assert at.derived() == {}
        await at.work.run(subjects)
        assert len(at.derived()) == 1


@pytest.mark.parametrize("kind", JOBS)
async def test_a_cancelled_job_stops_the_model_and_can_be_repeated(
    tmp_path: Path, kind: str
) -> None:
    (here, answer), gate = JOBS[kind], asyncio.Event()
    async with here(tmp_path, (answer,), gate) as at:
        await at.tell()
        subjects = await at.work.missing(9)
        task = asyncio.create_task(at.work.run(subjects))
        await at.llm.writing.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert (at.llm.cancelled, at.derived()) == (1, {})
        assert await at.work.missing(9) == subjects
        gate.set()
        await at.work.run(subjects)
        assert len(at.derived()) == 1
        assert await at.work.missing(9) == []


@pytest.mark.parametrize("kind", JOBS)
async def test_nothing_is_derived_from_an_exchange_forgotten_while_the_model_writes(
    tmp_path: Path, kind: str
) -> None:
    (here, answer), gate = JOBS[kind], asyncio.Event()
    async with here(tmp_path, (answer,), gate) as at:
        await at.tell()
        subjects = await at.work.missing(9)
        before = at.bench.memory.count()
        task = asyncio.create_task(at.work.run(subjects))
        await at.llm.writing.wait()
        hidden = await at.bench.forgetting.hide([at.bench.window.talk.exchanges[0].id], ())
        gate.set()
        await task
        assert at.derived() == {}
        await at.bench.forgetting.undo(hidden.id)
        assert at.bench.memory.count() == before
        assert await at.work.missing(9) == subjects


async def test_a_correction_made_while_the_model_writes_is_kept(tmp_path: Path) -> None:
    corrected, gate = "The user's dog is called Max.", asyncio.Event()
    gate.set()
    async with extracting.here(tmp_path, (MUCH,), gate) as at:
        exchange = await at.tell()
        await at.extract(exchange)
        gate.clear()
        at.llm.writing.clear()
        at.work.version += 1
        task = asyncio.create_task(at.extract(exchange))
        await at.llm.writing.wait()
        await asyncio.to_thread(at.desk.edit, fact_id(exchange.id, 0), corrected)
        gate.set()
        await task
        assert at.texts() == {corrected, PEANUTS}


# -- loaded on demand ---------------------------------------------------------------------------


@dataclass
class Closed(ScriptedModel):
    loads: int = 0
    closes: int = 0
    error: Exception | None = None

    def __post_init__(self) -> None:
        super().__init__(['{"1": 5}'])

    async def load(self) -> None:
        self.loads += 1
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        self.closes += 1


async def test_a_model_is_loaded_on_the_first_request_and_is_closed_only_once() -> None:
    model = Closed()
    lazy = LazyLanguageModel(lambda: model)
    assert (lazy.name, model.loads) == ("", 0)
    async with aclosing(lazy.stream(Generation([Message("user", "?")]))) as chunks:
        assert "".join([chunk.text async for chunk in chunks]) == '{"1": 5}'
    await lazy.load()
    assert (lazy.name, model.loads) == ("scripted", 1)
    assert lazy.count("two words") == 2
    await lazy.close()
    assert model.closes == 1


async def test_an_unused_model_is_never_built() -> None:
    def build() -> ScriptedModel:
        raise AssertionError

    lazy = LazyLanguageModel(build)
    with lazy.hold():
        await lazy.close()
    with pytest.raises(RuntimeError):
        lazy.count("?")


async def test_loading_a_model_is_retried_after_a_failure() -> None:
    model = Closed(error=ModelFailed("It does not start."))
    lazy = LazyLanguageModel(lambda: model)
    with pytest.raises(ModelFailed):
        await lazy.load()
    assert model.closes == 1
    model.error = None
    await lazy.load()
    assert model.loads == 2


# -- without a running assistant ----------------------------------------------------------------


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Closed:
    made = Closed()
    made.answers = ['{"worth": "much"}']
    monkeypatch.setattr(building, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))
    monkeypatch.setattr(composing, "build_background_model", lambda *_: made)
    monkeypatch.setattr(composing, "open_benchmark", lambda *_: None)
    return made


async def run(home: Home, **idle: str) -> int:
    settings = Settings.model_validate({"idle": idle, "encryption": {"mode": "off"}})
    vault = open_vault(home, settings, create=True)
    async with open_idle_scheduler(home, settings, vault, lambda _: None) as scheduler:
        done = await scheduler.run_until_empty()
    vault.close()
    return done


async def test_the_model_is_loaded_only_for_work_that_is_due(home: Home, model: Closed) -> None:
    told = talked(home)
    assert await run(home, extract="off") == 0
    assert model.loads == 0
    assert await run(home, extract="model") == len(told)
    assert (model.loads, model.closes) == (1, 1)
    assert await run(home, extract="model") == 0
    assert model.loads == 1
    with at_desk(home) as desk:
        facts = {each.text for each in newest(desk, MemoryKind.FACT)}
        events = {each.text for each in newest(desk, MemoryKind.EVENT)}
        assert "The user's dog Max barks at every postman in the street." in facts | events


async def test_speed_is_measured_without_loading_the_model_if_no_assistant_is_running(
    home: Home, model: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeBenchmark()
    monkeypatch.setattr(composing, "open_benchmark", lambda *_: fake)

    assert await run(home) == 1
    assert (fake.runs, model.loads) == (["large"], 0)
