"""Generating answers: failures end with an apology, and the key-value cache is kept warm."""

from pathlib import Path

from assistant.errors import ModelFailed
from assistant.events import Notice, Severity
from tests.support.fakes import UTTERANCE, ScriptedLlm, ScriptedStt, silence, sound
from tests.support.session import session


async def test_the_assistant_apologises_for_a_failing_model_and_the_conversation_continues(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm(ModelFailed("The model is gone.", mend="Start it."), "Here I am.")
    async with session(ScriptedStt("Hello."), llm, sound(0.8, 4.6, 0.8, 0.6), tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert first.assistant.startswith("Sorry")
        assert second.assistant == "Here I am."
        errors = [event for event in talk.of(Notice) if event.severity is Severity.ERROR]
        assert [(error.text, error.mend) for error in errors] == [
            ("The model is gone.", "Start it.")
        ]


async def test_a_model_that_writes_nothing_is_abandoned_with_an_apology(tmp_path: Path) -> None:
    llm, settings = ScriptedLlm("Never said", token_s=60), {"llm": {"timeout_s": 0.3}}
    async with session(ScriptedStt("Hello."), llm, UTTERANCE, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert talk.turns[0].assistant.startswith("Sorry")
        assert llm.cancelled == 1


async def test_between_turns_the_history_is_read_into_the_cache(tmp_path: Path) -> None:
    llm = ScriptedLlm("Hi there.")
    async with session(ScriptedStt("Hello."), llm, UTTERANCE, tmp_path) as talk:
        await talk.to_the_end()
        await talk.dialogue.cache.warmed()
        contents = [message.content for message in llm.read_ahead[-1]]
        assert contents[1:3] == ["Hello.", "Hi there."]


async def test_the_conversation_continues_after_a_restart(tmp_path: Path) -> None:
    async with session(
        ScriptedStt("I am Max."), ScriptedLlm("Hello Max."), UTTERANCE, tmp_path
    ) as talk:
        await talk.to_the_end()
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as again:
        assert again.history()[:2] == [("user", "I am Max."), ("assistant", "Hello Max.")]
        assert again.dialogue.next_turn == 2
