"""Conversations about what is remembered: typed sessions, and what they said and left behind."""

from pathlib import Path

from tests.support.talking import REMEMBERING, Row, Talk, typed

KEEPING = REMEMBERING | {
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_ENCRYPTION__MODE": "off",
    "ASSISTANT_FORGET__GRACE_S": "30",
}


def talk(home: Path, *lines: str, **more: str) -> Talk:
    """The session after these lines were typed and answered."""
    return typed(home, *lines, env=KEEPING | more)


def remarks(talking: Talk) -> list[str]:
    return [row["text"] for row in talking.of("remark")]


def recalled(turn: Row) -> str:
    return " ".join(memory["text"] for memory in turn["memories"])


def files_with(home: Path, *words: bytes) -> list[str]:
    files = (each for each in home.rglob("*") if each.is_file())
    return [each.name for each in files if any(word in each.read_bytes() for word in words)]
