"""What is told in one session is in the prompt of another, through the command and real models."""

from pathlib import Path

import pytest

from tests.support.talking import REMEMBERING, Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")

FACT = "My dog is called Max and he loves to play fetch."
ASKED = "Tell me, what is my dog called?"


def test_what_was_told_is_in_the_prompt_of_the_next_session_and_of_nobody_else(
    tmp_path: Path,
) -> None:
    with Talk(tmp_path, *TINY, "--text", env=REMEMBERING) as talk:
        assert talk.wait_for("memories")["count"] == 0
        talk.say(FACT)
        talk.end_input()
        assert talk.finish() == 0
        assert talk.of("turn")[0]["memories"] == []
    with Talk(tmp_path, *TINY, "--text", env=REMEMBERING) as talk:
        assert talk.wait_for("memories")["count"] == 2
        talk.say(ASKED)
        talk.end_input()
        assert talk.finish() == 0
    [turn] = talk.of("turn")
    assert FACT in [memory["text"] for memory in turn["memories"]]
    assert all(set(memory) == {"id", "text", "score"} for memory in turn["memories"])
    with Talk(tmp_path, *TINY, "--text", "--user", "bob", env=REMEMBERING) as talk:
        assert talk.wait_for("memories")["count"] == 0
        talk.say(ASKED)
        talk.end_input()
        assert talk.finish() == 0
    assert talk.of("turn")[0]["memories"] == []
