"""A change of the voice applies from the next answer on, without a new session."""

from pathlib import Path

from assistant.voice.voice_control import VoiceControl
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts, silence
from tests.support.session import session


async def test_the_next_answer_has_the_new_speed(tmp_path: Path) -> None:
    control, tts, llm = VoiceControl(), ToneTts(), ScriptedLlm("One two three.", "One two three.")
    played: list[int] = []
    async with session(
        ScriptedStt("-"), llm, silence(0.1), tmp_path, tts=tts, control=control
    ) as talk:
        for speed in (1.0, 2.0):
            control.speed = speed
            before = talk.loudspeaker.played()
            await talk.loop.say("Count.")
            await talk.loop.settled()
            played.append(talk.loudspeaker.played() - before)
    assert played[0] == 2 * played[1] > 0
