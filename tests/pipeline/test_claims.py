"""Acts that the language model claims are neither spoken nor shown nor stored."""

from pathlib import Path

from assistant.events import AnswerText
from assistant.intents.command import Command, CommandKind
from assistant.skills.skill import Reply
from assistant.voice.answer_check import NOT_DONE
from tests.support.claiming import ClaimingWords
from tests.support.fakes import UTTERANCE, ScriptedLlm, ScriptedStt, silence
from tests.support.session import session

CLAIM = "Nine minutes is right. I've set a timer for you. Enjoy your pasta."


async def test_the_history_holds_what_was_said_instead_of_the_claim(tmp_path: Path) -> None:
    llm, words = ScriptedLlm(CLAIM), ClaimingWords("set a timer")
    stt = ScriptedStt("How long does pasta take?")
    async with session(stt, llm, UTTERANCE, tmp_path, classifier=words) as talk:
        await talk.to_the_end()
        said = f"Nine minutes is right. But {NOT_DONE}"
        assert talk.turns[0].assistant == said
        assert talk.history()[1] == ("assistant", said)
        assert "".join(event.text for event in talk.of(AnswerText)) == said


async def test_the_answer_to_a_typed_line_is_checked_too(tmp_path: Path) -> None:
    llm, words = ScriptedLlm(CLAIM), ClaimingWords("set a timer")
    async with session(ScriptedStt("-"), llm, silence(0.1), tmp_path, classifier=words) as talk:
        await talk.loop.say("How long does pasta take?")
        await talk.loop.settled()
        assert talk.turns[0].assistant.endswith(NOT_DONE)
        assert all("timer" not in event.text for event in talk.of(AnswerText))


async def test_a_request_that_was_answered_with_a_question_counts_in_the_next_turn(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm("Which kettle do you mean?", "The kettle is on.")
    words = ClaimingWords(asking=("put",), faint=("kettle is on",))
    async with session(ScriptedStt("-"), llm, silence(0.1), tmp_path, classifier=words) as talk:
        for said in ("Could you put it on?", "The red one."):
            await talk.loop.say(said)
            await talk.loop.settled()
        assert [turn.assistant for turn in talk.turns] == ["Which kettle do you mean?", NOT_DONE]


class Timers:
    """Says that it has set a timer."""

    kinds = frozenset({CommandKind.REMEMBER})

    async def carry_out(self, command: Command) -> Reply | None:
        del command
        return Reply("I've set a timer.")

    async def ask(self, command: Command) -> Reply | None:
        del command
        return None


async def test_what_a_skill_says_is_not_checked(tmp_path: Path) -> None:
    words = ClaimingWords("set a timer")
    async with session(
        ScriptedStt("-"),
        ScriptedLlm(),
        silence(0.1),
        tmp_path,
        classifier=words,
        skills=[Timers()],
    ) as talk:
        await talk.loop.say("Remember that I like tea.")
        await talk.loop.settled()
        assert talk.dialogue.last_said.text == "I've set a timer."
        assert words.asked == []
