"""A question about the user's life is answered from what was told, or it is said at once that this
was not told, with real encoders and a restart."""

from pathlib import Path

import pytest

from assistant.context import NOT_TOLD
from assistant.paths import models_cache
from tests.support.command_line import in_this_process, objects
from tests.support.talking import REMEMBERING, Row, typed

pytestmark = [pytest.mark.real, pytest.mark.alone]  # a busy machine judges no memory in time

TELLING = REMEMBERING | {
    "ASSISTANT_ENCRYPTION__MODE": "off",
}
DOG = "My dog is called Max."
OTHERS = ("My dog has chewed my new shoes.", "My sister Anna lives in York.")
TOLD, NOT_EVEN_TOLD = "What is my dog called?", "When was my dog born?"


def explained(home: Path, turn: str) -> list[Row]:
    """The rows of `assistant memory why` without a running assistant."""
    words = ("--json", "memory", "why", turn, "--profile", "tiny")
    done = in_this_process(*words, home=home, ASSISTANT_MODELS_CACHE=str(models_cache()), **TELLING)
    assert done.returncode == 0, done.stderr
    return objects(done.stdout.splitlines())


def test_what_was_told_is_shown_to_the_model_and_what_was_not_is_said_not_to_be_told(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    typed(tmp_path, DOG, *OTHERS, env=TELLING | scripted)
    lines = ("Hello.", NOT_EVEN_TOLD, TOLD)
    _, fixed, answered = typed(tmp_path, *lines, env=TELLING | scripted).of("turn")

    assert fixed["assistant"] == NOT_TOLD
    assert (fixed["context_tokens"], fixed["latency_ms"]["first_token"]) == (0, None)
    assert fixed["memories"] == []
    assert [each["text"] for each in answered["memories"]] == [DOG]
    assert answered["assistant"] not in ("", NOT_TOLD)
    assert answered["latency_ms"]["first_token"] is not None

    answer, *recalled = explained(tmp_path, str(fixed["turn"]))
    assert (answer["user"], answer["assistant"]) == (NOT_EVEN_TOLD, NOT_TOLD)
    assert answer["fixed"]
    assert {row["event"] for row in recalled} == {"recalled"}, "it has no source"
    assert not any(row["based_on"] for row in recalled)
    left_out = {row["text"]: row["left_out"] for row in recalled}
    assert all(left_out.values()), "no memory was in a prompt"
    assert {left_out[each] for each in (DOG, *OTHERS)} == {"not close enough"}
