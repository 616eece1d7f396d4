"""Forgetting by voice and by keyboard, through the command, real models and restarts."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from assistant.paths import models_cache
from assistant.voice.audio.interfaces import MIC_RATE
from models.interfaces import Samples
from tests.support.talking import REMEMBERING, Row, Talk

pytestmark = [pytest.mark.real, pytest.mark.alone]

TINY = ("--profile", "tiny")
FORGETTING = REMEMBERING | {
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_FORGET__GRACE_S": "30",
}
DOG = "My dog is called Max and he loves to play fetch."
PIN = b"seventy-one forty-four"
CAT = "My cat is called Bella and she sleeps all day."
ASK_DOG = "What is my dog called?"
ASK_CAT = "What is my cat called?"
READING_S = 7.0
"""Of silence before the first words, in which the memories are read."""

Speaker = Callable[[str], Samples]


def spoken(speaker: Speaker, folder: Path, lines: Sequence[str]) -> list[str]:
    """Arguments that play these lines, each in a recording of its own."""
    arguments: list[str] = []
    for number, line in enumerate(lines):
        before = np.zeros(int((READING_S if not number else 0.3) * MIC_RATE), np.int16)
        path = folder / f"{line[:12].strip('.?')}-{number}.wav"
        soundfile.write(path, np.concatenate([before, speaker(line)]), MIC_RATE)
        arguments += ["--input", str(path)]
    return arguments


def run(home: Path, *arguments: str) -> Talk:
    with Talk(home, *TINY, *arguments, env=FORGETTING) as talk:
        assert talk.finish() == 0
    return talk


def typed(home: Path) -> Talk:
    return Talk(home, *TINY, "--text", env=FORGETTING)


def tells(turn: Row, name: str) -> bool:
    """Some memory in the turn's prompt does."""
    return any(name in memory["text"] for memory in turn["memories"])


def asked(home: Path, *words: str) -> Row:
    """What a command answers, in a process of its own."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ui.commands.main",
            "--home",
            str(home),
            "--json",
            "memory",
            *words,
            *TINY,
        ],
        env={**os.environ, **FORGETTING, "ASSISTANT_MODELS_CACHE": str(models_cache())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def forget_by_commands(home: Path, talk: Talk) -> None:
    """What was told last leaves the running conversation, and the faces see it."""
    talk.wait_for("turn")
    hidden = asked(home, "forget", "--last")
    assert (hidden["event"], hidden["attended"]) == ("forgetting", True)
    assert talk.wait_for("forgetting")["id"] == hidden["id"]
    assert asked(home, "undo")["id"] == talk.wait_for("undone")["id"] == hidden["id"]
    gone = asked(home, "forget", "--last", "--now")
    seen = talk.wait_for("forgotten")
    assert seen["searched"] == gone["receipt"]["searched"]
    assert (seen["files"], seen["clean"]) == (gone["receipt"]["files"], True)
    left = [each.name for each in home.rglob("*") if each.is_file() and PIN in each.read_bytes()]
    assert left == []


def test_forgetting_by_command_and_voice_holds_across_a_restart_and_undo_brings_back(
    tmp_path: Path, speaker: Speaker
) -> None:
    home, clips = tmp_path / "home", tmp_path / "clips"
    clips.mkdir()
    with typed(home) as first:
        first.wait_for("memories")
        first.say(f"The code of my bicycle lock is {PIN.decode()}.")
        forget_by_commands(home, first)
        first.say(DOG)
        first.end_input()
        assert first.finish() == 0

    lines = [ASK_DOG, "Forget everything about my dog.", ASK_DOG]
    lines += [CAT, "Forget that.", "Undo that."]
    talk = run(home, *spoken(speaker, clips, lines))
    before, after, _ = talk.of("turn")
    assert tells(before, "Max")
    assert not tells(after, "Max")
    dog, cat, back = [row["text"] for row in talk.of("remark")]
    assert dog.startswith("Forgotten: your dog is called Max")
    assert cat.startswith("Forgotten: your cat is called")
    assert back.startswith("Brought back: your cat is called")

    with typed(home) as again:
        again.wait_for("memories")
        for line in (ASK_DOG, ASK_CAT):
            again.say(line)
        again.end_input()
        assert again.finish() == 0
    asked_dog, asked_cat = again.of("turn")
    assert not tells(asked_dog, "Max")
    assert tells(asked_cat, "sleeps all day")
