"""A tool of a real server is used in a whole session, which then ends the server."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.model_server import model_server
from tests.support.patience import PATIENCE_S
from tests.support.talking import UNHURRIED, Talk
from tests.support.tools import runs, shelf

pytestmark = pytest.mark.real

QUESTION = "Count the texts that are kept."
TOLD = "There is 1 text that is kept."


@pytest.fixture
def model() -> Iterator[str]:
    """A model that chooses the tool, puts its answer into a sentence, and else says "Hello."."""

    def answer(newest: str) -> str:
        if newest.startswith("Tools:"):
            return json.dumps({"choice": {"tool": "shelf.count_texts"}})
        return json.dumps({"answer": TOLD}) if "The tool's answer" in newest else "Hello there."

    with model_server(answer) as url:
        yield url


@pytest.mark.parametrize("remembers", ["true", "false"])
def test_a_typed_question_is_answered_by_a_tool_and_its_server_ends_with_the_session(
    tmp_path: Path, model: str, remembers: str
) -> None:
    server, calls = shelf(), tmp_path / "calls"
    home = tmp_path / "home"
    home.mkdir()
    args = json.dumps([*server.args, str(calls)])
    (home / "settings.toml").write_text(
        f"[mcp.shelf]\ncommand = {json.dumps(server.command)}\nargs = {args}\n", encoding="utf-8"
    )
    environment = {
        **UNHURRIED,
        "ASSISTANT_GENERAL__PROFILE": "tiny",
        "ASSISTANT_LLM__ENDPOINT": model,
        "ASSISTANT_MEMORY__ENABLED": remembers,
    }
    with Talk(home, "--text", env=environment) as talk:
        talk.settle(0.5)
        until = time.monotonic() + PATIENCE_S
        while not any(row["text"] == TOLD for row in talk.of("remark")):  # it may still be starting
            assert time.monotonic() < until
            talk.say(QUESTION)
            talk.wait_for_reply()
        pid, *arguments = calls.read_text("utf-8").splitlines()
        assert runs(int(pid))
        assert set(arguments) == {"{}"}
        talk.end_input()
        assert talk.finish() == 0
        assert not runs(int(pid))
    log = (home / "logs" / "assistant.log").read_text("utf-8")
    assert "the tool server shelf: listening" in log
    assert "called with" not in log
