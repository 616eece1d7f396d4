"""One answer of a language model on the background lane, in a form that is fixed beforehand."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from assistant.context import load_prompt
from assistant.errors import ModelFailed
from models.interfaces import Generation, Lane, LanguageModel, Message

MOST_PIECES = 4
"""For each token that was asked for: a server that heeds no limit would go on for ever."""


@dataclass(frozen=True, slots=True)
class FewShotPrompt:
    """What stands before every question: the same bytes, so that the lane's KV cache holds them
    from one question to the next.

    Args:
        examples: pairs of a question and its answer, as JSON text.
    """

    instructions: str
    examples: Sequence[tuple[str, str]] = ()

    def messages(self, question: str) -> tuple[Message, ...]:
        shown: list[Message] = [Message("system", self.instructions)]
        for asked, answered in self.examples:
            shown += [Message("user", asked), Message("assistant", answered)]
        return (*shown, Message("user", question))


def shipped(name: str, example: Callable[[dict[str, Any]], tuple[str, str]]) -> FewShotPrompt:
    """The prompt of that name that ships with the project.

    Args:
        example: the question and the answer that one of its examples stands for.
    """
    return FewShotPrompt(load_prompt(name), [example(each) for each in examples(name)])


def examples(name: str) -> list[dict[str, Any]]:
    """What ships with the project of a prompt of that name."""
    lines = (files("data") / "prompts" / f"{name}_examples.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def ask_for_json(
    llm: LanguageModel,
    prompt: FewShotPrompt,
    question: str,
    schema: Mapping[str, Any],
    max_tokens: int,
) -> Any:
    """What the model answers, read as JSON. Cancelling it stops the model at once.

    Raises:
        ModelFailed: the model failed, or its answer is none: cut off, or no JSON.
    """
    request = Generation(
        messages=prompt.messages(question),
        max_tokens=max_tokens,
        temperature=0.0,
        json_schema=schema,
        lane=Lane.BACKGROUND,
    )
    pieces: list[str] = []
    async with aclosing(llm.stream(request)) as chunks:
        async for chunk in chunks:
            pieces.append(chunk.text)
            if len(pieces) > MOST_PIECES * max_tokens:
                raise ModelFailed("The model's answer does not end.")
    return read("".join(pieces))


def read(text: str) -> Any:
    """
    Raises:
        ModelFailed: it is no JSON. The sentence holds nothing of it: it may quote the user.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise ModelFailed("The model's answer was cut off, or not of the form asked for.") from None
