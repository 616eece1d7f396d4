"""Asks a language model for a JSON answer that follows a schema, on the background lane."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from assistant.context.prompt import load_prompt
from assistant.errors import ModelFailed
from models.interfaces import Generation, Lane, LanguageModel, Message

MOST_PIECES = 4
"""Maximum number of chunks of an answer per allowed token, in case a server ignores
`max_tokens`."""


@dataclass(frozen=True, slots=True)
class FewShotPrompt:
    """The messages before every question. They are always the same bytes, so they stay in the
    lane's KV cache from one question to the next.

    Args:
        examples: pairs of a question and its answer; the answer is JSON text.
    """

    instructions: str
    examples: Sequence[tuple[str, str]] = ()

    def messages(self, question: str) -> tuple[Message, ...]:
        shown: list[Message] = [Message("system", self.instructions)]
        for asked, answered in self.examples:
            shown += [Message("user", asked), Message("assistant", answered)]
        return (*shown, Message("user", question))


def shipped(name: str, example: Callable[[dict[str, Any]], tuple[str, str]]) -> FewShotPrompt:
    """Load the prompt `name` that ships with the project.

    Args:
        example: converts an example to a question and its answer.
    """
    return FewShotPrompt(load_prompt(name), [example(each) for each in examples(name)])


def examples(name: str) -> list[dict[str, Any]]:
    """Load the examples of the prompt `name` that ships with the project."""
    lines = (files("data") / "prompts" / f"{name}_examples.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def ask_for_json(
    llm: LanguageModel,
    prompt: FewShotPrompt,
    question: str,
    schema: Mapping[str, Any],
    max_tokens: int,
    *,
    urgent: bool = False,
) -> Any:
    """Ask the model a question, and return its answer as parsed JSON. Cancelling stops the model at
    once.

    Args:
        urgent: whether the user waits for the answer.

    Raises:
        ModelFailed: the model failed, or its answer was cut off or is not JSON.
    """
    request = Generation(
        messages=prompt.messages(question),
        max_tokens=max_tokens,
        temperature=0.0,
        json_schema=schema,
        lane=Lane.BACKGROUND,
        urgent=urgent,
    )
    pieces: list[str] = []
    async with aclosing(llm.stream(request)) as chunks:
        async for chunk in chunks:
            pieces.append(chunk.text)
            if len(pieces) > MOST_PIECES * max_tokens:
                raise ModelFailed("The model did not stop after the answer's allowed length.")
    return read("".join(pieces))


def read(text: str) -> Any:
    """Parse a JSON answer.

    Raises:
        ModelFailed: the answer is not JSON. The message does not quote the answer, which may
            contain user text.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise ModelFailed("The model's answer was cut off or not in the form requested.") from None
