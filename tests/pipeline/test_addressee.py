"""Which speech the assistant acts on while it is asleep, awake or muted, and the wake phrase."""

from pathlib import Path

from assistant.events import (
    CommandHeard,
    PartialTranscript,
    Phase,
    PhaseChanged,
    Remarked,
    SpeechIgnored,
    TurnHeard,
)
from tests.support.fakes import UTTERANCE, ScriptedLlm, ScriptedStt, silence, sound
from tests.support.session import session


async def test_while_asleep_speech_neither_becomes_a_turn_nor_is_reported(tmp_path: Path) -> None:
    async with session(ScriptedStt("My secret."), ScriptedLlm(), UTTERANCE, tmp_path) as talk:
        talk.dialogue.sleep()
        await talk.to_the_end()
        assert talk.turns == []
        assert not talk.of(TurnHeard)
        assert not talk.of(PartialTranscript)
        assert [event.text for event in talk.of(SpeechIgnored)] == [""]
        assert not talk.of(CommandHeard)


async def test_even_a_misheard_wake_phrase_wakes_the_assistant(tmp_path: Path) -> None:
    stt = ScriptedStt("Hey Aida, what's the weather?")
    async with session(stt, ScriptedLlm("Sunny."), UTTERANCE, tmp_path) as talk:
        talk.dialogue.sleep()
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["what's the weather?"]
        assert not talk.dialogue.asleep


async def test_the_wake_phrase_by_itself_is_reported_as_it_was_heard(tmp_path: Path) -> None:
    async with session(ScriptedStt("Hey Ada."), ScriptedLlm(), UTTERANCE, tmp_path) as talk:
        talk.dialogue.sleep()
        await talk.to_the_end()
        assert [event.text for event in talk.of(CommandHeard)] == ["Hey Ada."]
        assert [event.text for event in talk.of(Remarked)] == ["Yes?"]


async def test_the_command_go_to_sleep_is_carried_out_without_the_model(tmp_path: Path) -> None:
    llm = ScriptedLlm()
    async with session(ScriptedStt("Go to sleep, please."), llm, UTTERANCE, tmp_path) as talk:
        await talk.to_the_end()
        assert llm.requests == []
        assert talk.turns == []
        assert talk.of(PhaseChanged)[-1].phase is Phase.ASLEEP
        (remark,) = talk.of(Remarked)
        assert remark.text == "Good night. Say hey Ada to wake me."
        assert talk.loudspeaker.played() > 0


async def test_with_a_wake_phrase_only_speech_that_begins_with_it_counts(tmp_path: Path) -> None:
    llm = ScriptedLlm("Done.", "Blue.")
    stt = ScriptedStt("We talk among us.", "Hello house, lights on.", "And which colour?")
    speech = sound(0.8, 0.6, 0.8, 1.4, 0.8, 0.6)
    settings = {"turn": {"wake_phrase": "hello house", "follow_up_s": 5}}
    async with session(stt, llm, speech, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["lights on.", "And which colour?"]
        shown = {event.text for event in talk.of(PartialTranscript)}
        assert shown == {"Hello house, lights on.", "And which colour?"}


async def test_nothing_is_heard_while_muted(tmp_path: Path) -> None:
    stt = ScriptedStt("secret")
    async with session(stt, ScriptedLlm(), UTTERANCE, tmp_path) as talk:
        talk.loop.hear.open = False
        talk.dialogue.mute(muted=True)
        await talk.to_the_end()
        assert stt.heard == []
        assert talk.turns == []


async def test_typed_words_become_a_turn(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm("Four."), silence(0.2), tmp_path) as talk:
        await talk.loop.say("Two and two?")
        await talk.loop.settled()
        assert [(turn.user, turn.assistant) for turn in talk.turns] == [("Two and two?", "Four.")]


async def test_without_storage_the_model_answers_memory_commands_and_stop_is_not_a_turn(
    tmp_path: Path,
) -> None:
    llm, stt = ScriptedLlm("I'll try."), ScriptedStt("Stop, please.", "What do you know about me?")
    async with session(stt, llm, sound(0.8, 1.1, 0.8, 0.6), tmp_path) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["What do you know about me?"]
