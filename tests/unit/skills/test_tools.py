"""The skill that uses tools of other programs, with real servers and a scripted language model."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assistant.errors import ModelFailed
from assistant.intents import Command, CommandKind, Intent
from assistant.skills.abilities import CANT, Abilities, ModelInUse
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Remark, Reply
from assistant.skills.tools import tools as module
from assistant.skills.tools.tools import CANT_UNDO, NOT_DONE, OFF_RECORD, ONE_MOMENT, Tools
from assistant.tool_server_settings import ToolServer
from assistant.tool_servers.candidates import ToolIndex
from assistant.tool_servers.servers import ToolServers
from assistant.tool_servers.tool import Parameter, ParameterKind, Tool
from tests.support.fakes import ScriptedLlm
from tests.support.patience import PATIENCE_S
from tests.support.tools import shelf, until

KEEP = "Please keep the text buy milk on the shelf."
COUNT = "How many texts are on the shelf?"
TALK = "I slept badly last night."


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors by which the requests are like their tools, and talk is like none."""
    about = [["keep"], ["count", "how many"]]
    rows = [
        [float(any(each in text.lower() for each in words)) for words in about] for text in texts
    ]
    vectors = np.array([[*row, 0.01] for row in rows], np.float32)
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def chooses(tool: str, **arguments: object) -> str:
    return json.dumps({"choice": {"tool": tool, **arguments}})


@dataclass
class Bench:
    tools: Tools
    registry: SkillRegistry
    llm: ScriptedLlm
    off_record: list[bool]
    remarks: list[Remark] = field(default_factory=list)

    async def hear(self, text: str, *, sure: bool = True) -> str | None:
        """What is said to an act, or None if the language model should answer."""
        command = Command(CommandKind.ACT, words=text)
        reply = await self.registry.carry_out(Intent(command, sure))
        return reply.text if reply is not None else None

    async def answer(self, text: str) -> str | None:
        act = self.registry.answer(text)
        if act is not None:
            return (await act()).text
        reply = await self.registry.said(text) if self.registry.takes_words(text) else None
        return reply.text if reply is not None else None


@asynccontextmanager
async def bench(settings: ToolServer, *replies: str | Exception) -> AsyncIterator[Bench]:
    servers = ToolServers({"shelf": settings})
    index, llm, off_record = ToolIndex(encode), ScriptedLlm(*replies), [False]
    remarks: list[Remark] = []
    tools = Tools(servers, index, encode, llm, lambda: off_record[0], remarks.append)
    abilities = Abilities(lambda: {CommandKind.TIMER_SET}, lambda: ModelInUse("Some model"), tools)
    servers.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await servers.settled()
        index.build(servers.tools)
        yield Bench(tools, SkillRegistry([abilities]), llm, off_record, remarks)
    finally:
        await servers.close()


def calls(file: Path) -> list[dict[str, object]]:
    """The arguments of the calls that a server has received."""
    read = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [each for each in read if isinstance(each, dict)]


async def test_a_change_is_made_only_after_a_yes_and_what_is_said_comes_from_the_tool(
    tmp_path: Path,
) -> None:
    file = tmp_path / "calls"
    async with bench(shelf("plain", file), chooses("shelf.keep_text", text="Buy milk")) as shelves:
        asked = await shelves.hear(KEEP)
        assert asked == "Shall I run keep text on the shelf server, with the text buy milk?"
        assert calls(file) == []
        assert await shelves.answer("Yes, please.") == "Done. The text was kept."
        assert calls(file) == [{"text": "buy milk"}]


async def test_after_a_no_nothing_is_done(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    async with bench(shelf("plain", file), chooses("shelf.keep_text", text="buy milk")) as shelves:
        await shelves.hear(KEEP)
        assert await shelves.answer("No.") == "All right, I won't."
        assert calls(file) == []


async def test_what_changes_nothing_is_done_at_once(tmp_path: Path) -> None:
    sentence = json.dumps({"answer": "There is 1 text on the shelf."})
    async with bench(shelf(), chooses("shelf.count_texts"), sentence) as shelves:
        assert await shelves.hear(COUNT) == "There is 1 text on the shelf."


async def test_what_the_model_invents_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    invented = chooses("shelf.keep_text", text="remember the alamo")
    async with bench(shelf("plain", file), invented) as shelves:
        assert await shelves.hear("Keep something on the shelf.") == "What is the text?"
        asked = await shelves.answer("Call mum.")
        assert asked == "Shall I run keep text on the shelf server, with the text Call mum?"
        assert await shelves.answer("Yes.") == "Done. The text was kept."
        assert calls(file) == [{"text": "Call mum"}]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Never mind.", NOT_DONE),
        ("No, my brother has kept it already.", NOT_DONE),
        ("What do you need that for?", None),
        ("Go to sleep.", None),
    ],
)
async def test_an_answer_that_is_none_ends_the_question_and_is_not_passed_on(
    answer: str, said: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "calls"
    invented = chooses("shelf.keep_text", text="remember the alamo")
    async with bench(shelf("plain", file, confirm="never"), invented) as shelves:
        assert await shelves.hear("Keep something on the shelf.") == "What is the text?"
        assert await shelves.answer(answer) == said
        assert calls(file) == []


async def test_a_yes_answers_a_question_for_yes_or_no() -> None:
    tool = Tool("shelf", "clear", parameters=(Parameter("everything", ParameterKind.SWITCH),))
    async with bench(shelf()) as shelves:
        asked = await shelves.tools._go_on(tool, {}, "Clear the shelf.")
        assert asked.text == "Everything: yes or no?"
        shelves.registry.note(asked)
        confirming = "Shall I run clear on the shelf server, with yes for everything?"
        assert await shelves.answer("Yes.") == confirming


def test_each_of_several_arguments_is_named_before_a_change() -> None:
    assert module.confirming(Tool("git", "git_stop"), {}) == "Shall I run stop on the git server?"
    asked = module.confirming(
        Tool("git", "git_commit"),
        {"files": ["letter.txt", "photo.jpg"], "message": "Thanks", "copies": 2, "force": True},
    )
    assert asked == (
        "Shall I run commit on the git server, with the files letter.txt and photo.jpg, "
        "and the message Thanks, and the copies 2, and yes for force?"
    )


async def test_a_request_that_is_not_certain_must_name_something_the_tool_needs() -> None:
    invented = chooses("shelf.keep_text", text="remember the alamo")
    named = chooses("shelf.keep_text", text="buy milk")
    async with bench(shelf(), invented, named) as shelves:
        assert await shelves.hear("I like to keep things tidy.", sure=False) is None
        assert "Shall I run keep text" in str(await shelves.hear(KEEP, sure=False))


async def test_a_tool_that_needs_nothing_must_be_very_like_what_is_no_certain_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentence = json.dumps({"answer": "There is 1 text on the shelf."})
    async with bench(shelf(), chooses("shelf.count_texts"), sentence) as shelves:
        assert await shelves.hear(COUNT, sure=False) == "There is 1 text on the shelf."
    monkeypatch.setattr(module, "LEAST_BARE", 1.01)
    async with bench(shelf(), chooses("shelf.count_texts"), sentence) as shelves:
        assert await shelves.hear(COUNT, sure=False) is None


@pytest.mark.parametrize(
    "reply",
    [
        chooses("none"),
        chooses("shelf.delete_all"),
        json.dumps({"choice": "none"}),
        json.dumps([1]),
        "no JSON",
        ModelFailed("broken"),
    ],
)
async def test_if_the_model_chooses_no_tool_the_request_is_refused(reply: str | Exception) -> None:
    async with bench(shelf(), reply) as shelves:
        assert str(await shelves.hear(KEEP)).startswith(CANT)


async def test_only_what_is_like_a_tool_costs_a_question_to_the_model() -> None:
    async with bench(shelf()) as shelves:
        assert await shelves.tools.find(TALK) is None
        found = await shelves.tools.find(COUNT)
        assert found == Intent(Command(CommandKind.ACT, words=COUNT), sure=False)
        assert str(await shelves.hear(TALK)).startswith(CANT)


async def test_off_the_record_nothing_is_passed_on(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    async with bench(shelf("plain", file), chooses("shelf.keep_text", text="buy milk")) as shelves:
        await shelves.hear(KEEP)
        shelves.off_record[0] = True
        assert await shelves.answer("Yes.") == OFF_RECORD
        assert await shelves.tools.find(COUNT) is None
        assert await shelves.hear(KEEP) == OFF_RECORD
        assert await shelves.hear(KEEP, sure=False) is None
        assert calls(file) == []


async def test_undo_says_that_it_can_not_undo_what_another_program_did() -> None:
    async with bench(shelf(), chooses("shelf.keep_text", text="buy milk")) as shelves:
        await shelves.hear(KEEP)
        await shelves.answer("Yes.")
        undone = await shelves.registry.carry_out(Intent(Command(CommandKind.UNDO)))
        assert undone is not None
        assert undone.text == CANT_UNDO


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("dies", "The shelf server isn't working right now."),
        ("rubbish", "The shelf server isn't working right now."),
        ("fails", "The shelf server says it didn't work: The shelf is full."),
        ("floods", "The shelf server isn't working right now."),
    ],
)
async def test_a_server_that_fails_costs_a_sentence(mode: str, said: str) -> None:
    async with bench(shelf(mode), chooses("shelf.count_texts")) as shelves:
        assert await shelves.hear(COUNT) == said


@pytest.mark.parametrize(
    ("mode", "timeout_s", "wrong"),
    [
        ("hangs", 0.1, "didn't answer in time"),
        ("dies", PATIENCE_S, "isn't working right now"),
        ("rubbish", PATIENCE_S, "isn't working right now"),
    ],
)
async def test_after_a_change_without_an_answer_nothing_is_claimed(
    mode: str, timeout_s: float, wrong: str
) -> None:
    settings = shelf(mode, timeout_s=timeout_s)
    async with bench(settings, chooses("shelf.keep_text", text="buy milk")) as shelves:
        await shelves.hear(KEEP)
        assert await shelves.answer("Yes.") == (
            f"The shelf server {wrong}, so I don't know whether that was done."
        )


async def test_a_change_that_was_never_sent_is_not_in_doubt() -> None:
    async with bench(shelf()) as shelves:
        reply = await shelves.tools._call(Tool("shelf", "no_longer_offered"), {}, KEEP)
        assert reply.text == "The shelf server isn't working right now."


async def test_while_a_server_takes_long_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    async with bench(shelf("hangs", timeout_s=0.5), chooses("shelf.count_texts")) as shelves:
        assert await shelves.hear(COUNT) == ONE_MOMENT
        [remark] = shelves.remarks
        late = await remark()
        assert isinstance(late, Reply)
        assert late.text == "The shelf server didn't answer in time."
        assert await remark() == late, "a remark may be asked for again"


@pytest.mark.parametrize(
    ("asked", "choice", "remarks"),
    [
        (KEEP, chooses("shelf.keep_text", text="buy milk"), 1),
        (COUNT, chooses("shelf.count_texts"), 0),
    ],
)
async def test_after_an_interruption_only_what_may_have_been_changed_is_told(
    asked: str, choice: str, remarks: int, tmp_path: Path
) -> None:
    file = tmp_path / "calls"
    hanging = shelf("hangs", file, timeout_s=1, confirm="never")
    async with bench(hanging, choice) as shelves:
        hearing = asyncio.create_task(shelves.hear(asked))
        await until(lambda: len(calls(file)) == 1)
        hearing.cancel()
        await asyncio.wait({hearing})
        assert hearing.cancelled()
        assert len(shelves.remarks) == remarks
        for remark in shelves.remarks:
            told = await remark()
            assert told is not None
            assert told.text.endswith("so I don't know whether that was done.")


async def test_what_a_server_says_about_itself_is_data_in_one_question_only() -> None:
    orders = shelf("orders")
    sentence = json.dumps({"answer": "There are 3 texts."})
    async with bench(orders, chooses("shelf.count_texts"), sentence) as shelves:
        assert await shelves.hear(COUNT) == "There are 3 texts."
        assert shelves.llm.requests == [], "nothing of it is in the conversation's prompt"


async def test_the_programs_are_named_with_what_the_assistant_can_do() -> None:
    async with bench(shelf()) as shelves:
        told = await shelves.registry.carry_out(Intent(Command(CommandKind.ABILITIES)))
        assert told is not None
        assert told.text == "I can set timers. And I can use the tools of shelf."


async def test_an_encoder_that_fails_costs_nothing_but_the_tools() -> None:
    def broken(_: Sequence[str]) -> NDArray[np.float32]:
        raise ModelFailed("broken")

    async with bench(shelf()) as shelves:
        shelves.tools._encode = broken
        assert await shelves.tools.find(COUNT) is None
        assert str(await shelves.hear(COUNT)).startswith(CANT)
