"""Conversations and memories for the tests of the prompt."""

from datetime import UTC, datetime
from typing import Any

from assistant.context.conversation import Conversation, Summary
from assistant.context.prompt import Prompt
from assistant.events import MemoryUsed
from tests.support.scripted_model import ScriptedModel

NOW = datetime(2026, 11, 21, 11, 48, tzinfo=UTC)  # a Saturday
DATE = "(It is Saturday 21 November 2026 11:48.)"


def recalled(text: str, key: str = "", said: datetime | None = None, **given: Any) -> MemoryUsed:
    return MemoryUsed(key, text, said=said, **given)


def say(
    conversation: Conversation, question: str, answer: str, *, interrupted: bool = False
) -> str:
    """Add an exchange; returns its id."""
    turn = conversation.last_turn + 1
    conversation.append_user(turn, question, NOW)
    return conversation.complete(turn, answer, interrupted, ended=NOW).id


def talk(turns: int, words: int = 0) -> Conversation:
    """A conversation with numbered questions and answers.

    Args:
        words: number of words added to each answer.
    """
    conversation = Conversation.begin("ada")
    for number in range(1, turns + 1):
        say(conversation, f"question {number}", f"answer {number} {'word ' * words}")
    return conversation


def summary_of(conversation: Conversation, exchanges: int, key: str = "s") -> Summary:
    """A summary of the first exchanges."""
    covers = tuple(each.id for each in conversation.exchanges[:exchanges])
    return Summary(key, "They spoke of dogs.", covers, NOW)


def contents(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)


def sections(prompt: Prompt) -> list[str]:
    return [section.name for section in prompt.sections]


def check_prompt(prompt: Prompt) -> None:
    """Check the properties that every prompt has."""
    assert prompt.messages[: len(prompt.stable_messages)] == prompt.stable_messages
    assert len(prompt.messages) == len(prompt.stable_messages) + 1
    assert prompt.messages[0].role == "system"
    roles = [message.role for message in prompt.messages[1:]]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert roles[-1] == "user"
    assert prompt.tokens == ScriptedModel().count_messages(prompt.messages) <= prompt.budget
    assert sum(section.tokens for section in prompt.sections) == prompt.tokens
    assert all(section.tokens >= 0 for section in prompt.sections)
