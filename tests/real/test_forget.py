"""The command remembers, and forgets by voice and keyboard, with real models and restarts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import soundfile

from assistant.voice.audio.interfaces import MIC_RATE
from models.interfaces import Samples
from tests.support.command_line import in_this_process
from tests.support.talking import REMEMBERING, Row, Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
FORGETTING = REMEMBERING | {
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_FORGET__GRACE_S": "30",
}
DOG = "My dog is called Quimby and he loves to play fetch."
CODE = b"locker code is 4471"
PIN = b"seventy-one forty-four"
CAT = "My cat is called Bella and she sleeps all day."
ASK_DOG = "What is my dog called?"
ASK_CAT = "What is my cat called?"
FORGET_DOG = "Forget everything about my dog."


def typed(home: Path, *arguments: str, **more: str) -> Talk:
    return Talk(home, *TINY, "--text", *arguments, env=FORGETTING | more)


def tells(turn: Row, name: str) -> bool:
    """Whether a memory in the turn's prompt contains the name."""
    return any(name in memory["text"] for memory in turn["memories"])


def asked(home: Path, *words: str) -> Row:
    """The answer of a command, which asks the running assistant."""
    done = in_this_process(
        *("--home", str(home), "--json", "memory", *words, *TINY), home=home, **FORGETTING
    )
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def forget_by_commands(home: Path, talk: Talk) -> None:
    """Commands forget the last exchange of the running conversation, which reports each step."""
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


def test_across_restarts_exchanges_are_remembered_unless_they_were_forgotten(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    with typed(tmp_path, **scripted) as first:
        assert first.wait_for("memories")["count"] == 0
        first.say(f"The code of my bicycle lock is {PIN.decode()}.")
        forget_by_commands(tmp_path, first)
        first.say(DOG)
        first.end_input()
        assert first.finish() == 0
    assert all(turn["memories"] == [] for turn in first.of("turn"))

    with typed(tmp_path, **scripted) as talk:
        assert talk.wait_for("memories")["count"] == 2
        for line in (ASK_DOG, FORGET_DOG, ASK_DOG, CAT, "Forget that.", "Undo that."):
            talk.say(line)
        talk.end_input()
        assert talk.finish() == 0
    before, after, _ = talk.of("turn")
    assert DOG in [memory["text"] for memory in before["memories"]]
    assert all(set(memory) == {"id", "text", "score"} for memory in before["memories"])
    assert not tells(after, "Quimby")
    dog, cat, back = [row["text"] for row in talk.of("remark")]
    assert dog.startswith("Forgotten: your dog is called Quimby")
    assert cat.startswith("Forgotten: your cat is called")
    assert back.startswith("Brought back: your cat is called")

    with typed(tmp_path, **scripted) as again:
        again.wait_for("memories")
        for line in (ASK_DOG, ASK_CAT):
            again.say(line)
        again.end_input()
        assert again.finish() == 0
    asked_dog, asked_cat = again.of("turn")
    assert not tells(asked_dog, "Quimby")
    assert tells(asked_cat, "sleeps all day")

    with typed(tmp_path, "--user", "bob", **scripted) as somebody_else:
        assert somebody_else.wait_for("memories")["count"] == 0
        somebody_else.say(ASK_CAT)
        somebody_else.end_input()
        assert somebody_else.finish() == 0
    assert somebody_else.of("turn")[0]["memories"] == []


def test_after_a_question_forget_that_forgets_what_was_asked_about(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    """Whatever the model answers, and from typed words to the bytes on the disk."""
    with typed(tmp_path, **scripted) as first:
        first.say("My locker code is 4471.")
        first.end_input()
        assert first.finish() == 0
    with typed(tmp_path, ASSISTANT_FORGET__GRACE_S="1") as talk:
        assert talk.wait_for("memories")["count"] == 2
        talk.say("What is my locker code?")
        assert tells(talk.wait_for("turn"), "4471")
        talk.say("Forget that.")
        assert talk.wait_for("remark")["text"].startswith("Forgotten: your locker code is 4471")
        assert talk.wait_for("forgotten")["clean"] is True
        talk.end_input()
        assert talk.finish() == 0
    left = [
        each.name for each in tmp_path.rglob("*") if each.is_file() and CODE in each.read_bytes()
    ]
    assert left == []


def test_an_exchange_is_forgotten_and_brought_back_by_voice(
    tmp_path: Path, speaker: Callable[[str], Samples], scripted: dict[str, str]
) -> None:
    recordings: list[str] = []
    for number, line in enumerate((DOG, FORGET_DOG, "Undo that.")):
        path = tmp_path / f"{number}.wav"
        soundfile.write(path, speaker(line), MIC_RATE)
        recordings += ["--input", str(path)]
    with Talk(tmp_path / "home", *TINY, *recordings, env=FORGETTING | scripted) as talk:
        assert talk.finish() == 0
    [told] = talk.of("turn")
    assert "dog" in told["user"]
    forgotten, back = [row["text"] for row in talk.of("remark")]
    assert forgotten.startswith("Forgotten: your dog is called")
    assert back.startswith("Brought back: your dog is called")
