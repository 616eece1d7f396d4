"""The command says why it gave an answer and when it was told something, with real models and
restarts."""

from pathlib import Path

import pytest

from assistant.paths import models_cache
from assistant.skills.memory.explaining import BESIDE_NOTES, FROM_MODEL, NOTHING_SAID
from tests.support.command_line import in_this_process, objects
from tests.support.talking import REMEMBERING, Row, Talk, typed

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
EXPLAINING = REMEMBERING | {
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_FORGET__GRACE_S": "0",
    "ASSISTANT_LLM__TEMPERATURE": "0",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "16",
}
CONTINUING = EXPLAINING | {"ASSISTANT_CONTEXT__RESUME_WITHIN_H": "4"}
DOG = "My dog is called Max and he loves to play fetch."
ASK_DOG = ("Say the name of my dog.", "What is my dog called?", "Say my dog's name again.")
WHY = "Why did you say that?"
WHEN = "When did I tell you about my dog?"
SOURCE = "that your dog is called Max"


def remarks(talking: Talk) -> list[str]:
    """What was said that no model wrote; how long ago something was told depends on the machine."""
    return [row["text"].replace(" earlier today", " a moment ago") for row in talking.of("remark")]


def explained(home: Path, *words: str) -> list[Row]:
    """The rows of `assistant memory why` or `log` without a running assistant."""
    words = ("--json", "memory", *words, *TINY)
    done = in_this_process(
        *words, home=home, ASSISTANT_MODELS_CACHE=str(models_cache()), **EXPLAINING
    )
    assert done.returncode == 0, done.stderr
    # A command first carries out a deletion that is due, and says so.
    assert done.stderr == "" or done.stderr.startswith("What was forgotten at"), done.stderr
    return objects(done.stdout.splitlines())


def until_named(home: Path) -> Talk:
    """A session that begins with the question when the dog was told about. Then a small model is
    asked for the dog's name until it says it, and why."""
    with Talk(home, *TINY, "--text", env=EXPLAINING) as talk:
        talk.wait_for("memories")
        talk.say(WHEN)
        talk.wait_for("remark")
        for line in ASK_DOG:
            talk.say(line)
            if "Max" in talk.wait_for("turn")["assistant"]:
                break
        else:
            pytest.fail("the small model does not name the dog in any of its answers")
        talk.say(WHY)
        talk.wait_for("remark")
        talk.end_input()
        assert talk.finish() == 0
    return talk


def test_answers_are_explained_in_the_session_after_a_restart_and_after_forgetting(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    asked = typed(
        tmp_path,
        WHY,
        DOG,
        "What is the capital of France?",
        "How do you know that?",
        "What do you know about my dog?",
        "How do you know that?",
        WHEN,
        env=EXPLAINING | scripted,
    )
    nothing, general, known, source, when = remarks(asked)
    assert nothing == NOTHING_SAID
    assert general in (FROM_MODEL, BESIDE_NOTES)
    assert "your dog is called Max" in known
    assert SOURCE in source
    assert "your dog is called Max" in when

    answered = until_named(tmp_path)
    *others, named = answered.of("turn")
    told_when, because_told = remarks(answered)
    assert "your dog is called Max" in told_when
    assert SOURCE in because_told

    answer, told, *recalled = explained(tmp_path, "why", str(named["turn"]))
    assert (answer["assistant"], answer["from_model"]) == (named["assistant"], False)
    assert told["text"] == DOG
    assert [row["text"] for row in recalled if row["based_on"] and row["speaker"] == "user"] == [
        DOG
    ]
    assert all(isinstance(row["score"], float) for row in recalled)
    *logged, _ = explained(tmp_path, "log", "--limit", str(1 + len(others)))
    assert [row["user"] for row in reversed(logged)] == [turn["user"] for turn in (*others, named)]
    assert {**answer, "recalled": recalled} in logged

    forget = ("Forget everything about my dog.", "Yes.")
    restarted = typed(tmp_path, WHY, *forget, WHY, WHEN, env=CONTINUING | scripted)
    because, *forgotten, after, never = remarks(restarted)
    assert because == because_told, "the log of recalls outlives the session"
    assert any(each.startswith("Forgotten:") for each in forgotten)
    assert after.startswith("I said that because you asked me to forget something.")
    assert never == "I don't remember you telling me about your dog."

    left, *rows = explained(tmp_path, "why")
    assert left["user"] == "What is the capital of France?"
    assert all("Max" not in str(row) for row in (*rows, *explained(tmp_path, "log")))
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert not [path.name for path in kept if b"loves to play fetch" in path.read_bytes()]
