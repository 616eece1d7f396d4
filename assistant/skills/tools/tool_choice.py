"""Asks the language model which tool an utterance asks for, and with which arguments.

The model only proposes. What it proposes is checked against the user's words (`tool_arguments`).
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.context import ask_for_json, sanitised, shipped
from assistant.errors import ModelFailed
from assistant.tool_servers import Parameter, ParameterKind, Tool
from models.interfaces import LanguageModel

logger = logging.getLogger(__name__)

MODEL_S = 12.0
"""Seconds to wait for the model's choice."""
TOKENS = 120
"""Maximum number of tokens of a choice."""
NONE = "none"
LONGEST_TOLD = 100
"""Maximum number of characters of a tool's description in the prompt, since reading takes time."""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """A tool that the model has chosen, and the arguments that it proposes, not yet checked."""

    tool: Tool
    proposed: Mapping[str, Any]


async def choose(llm: LanguageModel, text: str, tools: Sequence[Tool]) -> ToolChoice | None:
    """Return the model's choice. Return None if it chooses no tool, fails, or takes too long."""
    prompt = await asyncio.to_thread(shipped, "choose_tool", _example)
    question = _question(text, [_told(tool) for tool in tools])
    try:
        async with asyncio.timeout(MODEL_S):
            answer = await ask_for_json(llm, prompt, question, _schema(tools), TOKENS, urgent=True)
    except (ModelFailed, TimeoutError) as error:
        logger.warning("the model chose no tool: %s", type(error).__name__)
        return None
    choice = answer.get("choice") if isinstance(answer, Mapping) else None
    if not isinstance(choice, Mapping):
        return None
    by_key = {tool.key: tool for tool in tools}
    tool = by_key.get(str(choice.get("tool")))
    return ToolChoice(tool, choice) if tool is not None else None


def _schema(tools: Sequence[Tool]) -> Mapping[str, Any]:
    """Return the schema of a choice. It is built here: a server's own schema is never passed to the
    engine."""
    none = _object({"tool": {"type": "string", "enum": [NONE]}})
    some = [
        _object(
            {"tool": {"type": "string", "enum": [tool.key]}}
            | {each.name: _values(each) for each in tool.parameters if each.name != "tool"}
        )
        for tool in tools
    ]
    return _object({"choice": {"anyOf": [*some, none]}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _values(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of a parameter's values, which include null."""
    if parameter.choices:
        values: dict[str, Any] = {"type": "string", "enum": list(parameter.choices)}
    elif parameter.kind is ParameterKind.TEXTS:
        values = {"type": "array", "items": {"type": "string"}}
    else:
        values = {"type": parameter.kind.value}
    return {"anyOf": [values, {"type": "null"}]}


def _told(tool: Tool) -> dict[str, Any]:
    """Return what the model is told about a tool."""
    arguments = {each.name: _short(each.description) for each in tool.parameters}
    return {"name": tool.key, "description": _short(tool.description), "arguments": arguments}


def _short(text: str) -> str:
    return sanitised(text)[:LONGEST_TOLD]


def _question(text: str, tools: Sequence[Mapping[str, Any]]) -> str:
    lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in tools)
    return f"Tools:\n{lines}\nSaid: {json.dumps(sanitised(text), ensure_ascii=False)}"


def _example(raw: Mapping[str, Any]) -> tuple[str, str]:
    return _question(raw["said"], raw["tools"]), json.dumps({"choice": raw["choice"]})
