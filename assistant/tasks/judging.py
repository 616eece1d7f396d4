"""Asks a language model whether words settle something of a task. It only judges: it can't change
or add a word."""

import json
from collections.abc import Mapping
from typing import Any

from assistant.context import FewShotPrompt, ask_for_json, shipped
from assistant.errors import ModelFailed
from assistant.tasks.settling import Candidate
from models.interfaces import LanguageModel

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"settles": {"enum": ["yes", "no"]}},
    "required": ["settles"],
    "additionalProperties": False,
}
TOKENS = 16
"""Maximum number of tokens of the model's answer."""


class TaskJudge:
    """Judges candidates on the model's background lane, in English only. A call can be cancelled at
    any time.

    Of sixteen candidates near to tasks, Qwen2.5 with 1.5 billion parameters judged ten as a person
    would; with half a billion, it said no to nearly all. So rules decide what they can.
    """

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._prompt = prompt()

    async def __call__(self, task: str, said: str, candidate: Candidate) -> bool | None:
        """Return whether a candidate settles something of a task. None if the model failed."""
        asked = question(task, said, candidate.text)
        try:
            answered = await ask_for_json(self._llm, self._prompt, asked, SCHEMA, TOKENS)
        except ModelFailed:
            return None
        return answered.get("settles") == "yes" if isinstance(answered, Mapping) else None


def question(task: str, said: str, text: str) -> str:
    return f'Task: {task}\nSaid: "{" ".join(said.split())}"\nNote: {text}'


def prompt() -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    return shipped("task", _example)


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["task"], raw["said"], raw["note"]), json.dumps({"settles": raw["settles"]})
