"""Spoken conversations through a real sound server, using only microphone and loudspeaker."""

import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from assistant.voice.turns.barge_in import is_echo
from models.interfaces import Samples
from tests.support.listening import Listener, plain
from tests.support.pulse import PulseServer
from tests.support.talking import Row, Talk

pytestmark = [pytest.mark.real, pytest.mark.sound]

LIVE = (
    *("--profile", "tiny"),
    *("--set", "llm.max_answer_tokens=36", "--set", "llm.temperature=0"),
)
"""Options that keep answers short, since they are played in real time."""
LONG = ("--set", "llm.max_answer_tokens=160")
"""Options that leave time for the echo canceller to adapt before an answer ends."""
STORY = "Please tell me a very long story about a boat on the sea."
"""The smallest model answers this at length, so that it can be interrupted."""
REST_S = 1.0
PAUSE_S = 1.5

Speaker = Callable[[str], Samples]


def interrupted(talk: Talk, pulse: PulseServer, words: Samples) -> Row:
    """Repeat the words with pauses until the answer ends, as people do: they may be lost while the
    echo canceller adapts to a changed delay, and it adapts in the pauses. Returns the turn."""
    for _ in range(30):
        if talk.has_come("turn"):
            break
        pulse.speak(words)
        time.sleep(PAUSE_S)
    return talk.wait_for("turn")


@pytest.mark.alone
def test_the_assistant_answers_and_does_not_answer_its_own_voice(
    tmp_path: Path, pulse: PulseServer, speaker: Speaker, listener: Listener
) -> None:
    """The microphone picks up the loudspeaker's sound as loud as it is played."""
    pulse.echo(True)
    with Talk(tmp_path, *LIVE, env=pulse.env, fresh=True) as talk:
        talk.wait_for("ready")
        heard = pulse.record()
        pulse.speak(speaker("Tell me about the sea."))
        first = talk.wait_for("turn")
        talk.settle(REST_S)  # the end of the answer is still on its way through the sound server
        sound = heard.stop()
        assert "about the sea" in first["user"].lower()
        assert not first["interrupted"]
        assert listener.word_error(sound, first["assistant"]) < 0.15
        assert len(talk.of("turn")) == 1
        talk.interrupt()
        talk.finish()


@pytest.mark.alone
def test_words_interrupt_an_answer_after_a_lost_sound_server_is_back(
    tmp_path: Path, pulse: PulseServer, speaker: Speaker
) -> None:
    """The microphone picks up the loudspeaker's sound as loud as it is played."""
    with Talk(tmp_path, *LIVE, *LONG, env=pulse.env, fresh=True) as talk:
        talk.wait_for("ready")
        pulse.stop()
        talk.wait_for("phase", phase="paused")
        pulse.start()
        pulse.echo(True)
        talk.wait_for("phase", phase="listening")
        pulse.speak(speaker(STORY))
        talk.wait_for("phase", phase="speaking")
        time.sleep(1.0)
        story = interrupted(talk, pulse, speaker("Stop it. Please stop it now."))
        assert story["interrupted"]
        assert "story" in story["user"].lower()
        talk.settle()  # the interrupting words are heard to their end, too
        pulse.speak(speaker("What is the capital of France?"))
        talk.settle(REST_S)
        turns = talk.of("turn")
        assert "the capital of" in plain(turns[-1]["user"])
        for before, turn in pairwise(turns):
            assert not is_echo(turn["user"], before["assistant"])
        talk.interrupt()
        talk.finish()
    assert len(talk.of("notice")) >= 2, "the sound server is lost and back"


def test_missing_sound_devices_are_reported_and_typing_still_works(
    tmp_path: Path, pulse: PulseServer, scripted: dict[str, str]
) -> None:
    env = {**pulse.env, **scripted, "PULSE_SERVER": "unix:/nonexistent/socket"}
    with Talk(tmp_path, "--profile", "tiny", "--text", "--speak", env=env, fresh=True) as talk:
        talk.say("Hello.")
        talk.end_input()
        assert talk.finish() == 0
    assert len(talk.of("turn")) == 1
    assert any("No loudspeaker" in notice["text"] for notice in talk.of("notice"))


def test_a_missing_device_is_reported_in_one_sentence(tmp_path: Path, pulse: PulseServer) -> None:
    with Talk(tmp_path, *LIVE, "--microphone", "Neumann", env=pulse.env, fresh=True) as talk:
        assert talk.finish() == 4
    [error] = talk.of("error")
    assert "Neumann" in error["message"]
