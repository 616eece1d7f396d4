"""What the assistant can't know is recognised in the voice loop, and only the model is told so."""

from pathlib import Path

from assistant.context.prompt import NOT_KNOWN, NOT_KNOWN_UNLESS_NOTED
from assistant.events import MemoryUsed, PromptBuilt, TurnHeard
from assistant.intents.command import Command, CommandKind, Intent
from assistant.memory.retrieval.results import RecalledForTurn
from assistant.skills.skill import Reply
from models.interfaces import ClassifiedText
from tests.support.fakes import UTTERANCE, ScriptedEnd, ScriptedLlm, ScriptedStt, silence
from tests.support.session import Session, session

RAIN = "Is it raining in Leeds?"
SKY = "Why is the sky blue?"


class Judging:
    """Takes what mentions rain for something that can't be known."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        self.asked.append(text)
        return ClassifiedText({}, unknowable=0.95 if "rain" in text else 0.02)


class Noted:
    """Always finds the same note."""

    def ahead(self, words: str) -> None:
        """Nothing to prepare."""

    async def recall(self, query: str, deadline_s: float) -> RecalledForTurn:
        return RecalledForTurn((MemoryUsed("1", "Rain ruins my hair.", 0.9),))


class Weather:
    """A tool that knows the weather."""

    kinds = frozenset({CommandKind.ACT})

    async def carry_out(self, command: Command) -> Reply | None:
        return Reply("It is raining.") if command.words == RAIN else None

    async def ask(self, command: Command) -> Reply | None:
        del command
        return None


async def say(talk: Session, *lines: str) -> None:
    for line in lines:
        await talk.loop.say(line)
        await talk.loop.settled()


async def test_the_model_is_told_what_it_cannot_know_and_the_history_is_not(
    tmp_path: Path,
) -> None:
    llm, judging = ScriptedLlm("It scatters.", "I don't know."), Judging()
    sound = silence(0.1)
    async with session(ScriptedStt("-"), llm, sound, tmp_path, classifier=judging) as talk:
        await say(talk, SKY, RAIN)
        first, second = (each.messages[-1].content for each in llm.requests)
        assert (first, second) == (SKY, f"{RAIN}\n{NOT_KNOWN}")
        assert [each.text for each in talk.of(TurnHeard)] == [SKY, RAIN]
        assert [each.user for each in talk.turns] == [SKY, RAIN]
        assert all(NOT_KNOWN not in text for _, text in talk.history())
        shown = {each.name: each.text for each in talk.of(PromptBuilt)[1].sections}
        assert (shown["state"], shown["newest message"]) == (NOT_KNOWN, RAIN)
        for said in (RAIN, SKY):
            assert judging.asked.count(said) == 1, "routing and the check of claims share it"


async def test_with_notes_the_model_may_answer_from_them(tmp_path: Path) -> None:
    llm = ScriptedLlm("It scatters.", "I don't know.")
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    async with session(*parts, classifier=Judging(), recaller=Noted()) as talk:
        await say(talk, SKY, RAIN)
    assert llm.requests[1].messages[-1].content.endswith(f"{RAIN}\n{NOT_KNOWN_UNLESS_NOTED}")


async def test_an_answer_that_is_begun_before_the_turn_ends_is_given_the_hint_too(
    tmp_path: Path,
) -> None:
    llm, judging = ScriptedLlm("I don't know."), Judging()
    parts = (ScriptedStt(RAIN), llm, UTTERANCE, tmp_path)
    async with session(*parts, classifier=judging, end=ScriptedEnd()) as talk:
        await talk.to_the_end()
        assert [each.assistant for each in talk.turns] == ["I don't know."]
    assert [each.messages[-1].content for each in llm.requests] == [f"{RAIN}\n{NOT_KNOWN}"]


async def test_a_tool_takes_such_a_question_first(tmp_path: Path) -> None:
    async def find(text: str) -> Intent | None:
        return Intent(Command(CommandKind.ACT, text))

    llm, later = ScriptedLlm("I don't know."), "Will it rain in York?"
    parts = (ScriptedStt("-"), llm, silence(0.1), tmp_path)
    loop = session(*parts, classifier=Judging(), skills=[Weather()], find_tool=find)
    async with loop as talk:
        await say(talk, RAIN, later)
    asked = [each.messages[-1].content for each in llm.requests]
    assert asked == [f"{later}\n{NOT_KNOWN}"], "no tool has answered it"
