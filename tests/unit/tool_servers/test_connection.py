"""The connection to a tool server, with servers that hang, die, answer rubbish, or change."""

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest

from assistant.errors import ToolLate, ToolOutcomeUnknown, ToolServerDown
from assistant.tool_server_settings import ToolServer
from assistant.tool_servers import connection as module
from assistant.tool_servers.child_process import INHERITED
from assistant.tool_servers.connection import MOST_LATE, ServerState
from assistant.tool_servers.tool import LONGEST_RESULT, Tool
from tests.support.tools import connected, runs, shelf, tool_of, until

ROOT = Path(__file__).resolve().parents[3]


async def test_the_tools_that_can_be_used_by_voice_are_listed() -> None:
    async with connected(shelf()) as shelves:
        assert [each.name for each in shelves.tools] == ["keep_text", "count_texts"]
        assert shelves.unusable == 1, "nobody can say a table"
        keep, count = shelves.tools
        assert (keep.read_only, keep.confirmed) == (False, True)
        assert (count.read_only, count.confirmed) == (True, False)


@pytest.mark.parametrize(("confirm", "asked"), [("never", [False] * 2), ("always", [True] * 2)])
async def test_the_settings_decide_what_is_confirmed(confirm: str, asked: list[bool]) -> None:
    async with connected(shelf(confirm=confirm)) as shelves:
        assert [each.confirmed for each in shelves.tools] == asked


async def test_a_tool_receives_the_arguments_and_those_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    async with connected(shelf("plain", file, defaults={"text": "milk", "other": 1})) as shelves:
        keep = tool_of(shelves.tools, "keep_text")
        assert keep.parameters == (), "the settings say it already"
        result = await shelves.call(keep, {})
    assert (result.text, result.failed) == ("The text was kept", False)
    assert json.loads(file.read_text().splitlines()[-1]) == {"text": "milk"}


async def test_a_server_that_hangs_is_given_up_and_ended() -> None:
    async with connected(shelf("hangs", timeout_s=0.2)) as shelves:
        count, pid = tool_of(shelves.tools, "count_texts"), shelves.pid
        assert pid is not None
        for _ in range(MOST_LATE):
            with pytest.raises(ToolLate, match="did not answer in time"):
                await shelves.call(count, {})
        await until(lambda: shelves.state is ServerState.DOWN and not runs(pid))
        assert shelves.tools == ()
        with pytest.raises(ToolServerDown, match="no longer answers"):
            await shelves.call(count, {})


async def test_a_server_that_dies_is_started_again_once(tmp_path: Path) -> None:
    file = tmp_path / "starts"
    async with connected(shelf("dies", file), restart_s=0.1) as shelves:
        for starts in (1, 2):
            await until(lambda: shelves.state is ServerState.READY)
            assert len([each for each in file.read_text().split() if each.isdigit()]) == starts
            with pytest.raises(ToolOutcomeUnknown):
                await shelves.call(tool_of(shelves.tools, "count_texts"), {})
            await until(lambda: shelves.state is not ServerState.READY)
        await until(lambda: shelves.state is ServerState.DOWN)
        with pytest.raises(ToolServerDown, match="has ended"):
            await shelves.call(Tool("shelf", "count_texts"), {})


async def test_rubbish_for_a_result_is_an_error_and_the_server_goes_on() -> None:
    async with connected(shelf("rubbish")) as shelves:
        with pytest.raises(ToolOutcomeUnknown, match="didn't understand"):
            await shelves.call(tool_of(shelves.tools, "count_texts"), {})
        assert shelves.state is ServerState.READY


@pytest.mark.parametrize("mode", ["floods", "chatters"])
async def test_a_server_that_says_no_message_or_one_without_end_is_ended(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(shelf(mode)) as shelves:
        if mode == "floods":
            with pytest.raises(ToolOutcomeUnknown):
                await shelves.call(tool_of(shelves.tools, "count_texts"), {})
        await until(lambda: shelves.state is ServerState.DOWN)


async def test_a_server_that_never_starts_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_S", 0.3)
    async with connected(shelf("silent")) as shelves:
        assert isinstance(shelves.problem, ToolLate)


async def test_a_result_that_is_too_long_is_cut_off() -> None:
    async with connected(shelf("much")) as shelves:
        result = await shelves.call(tool_of(shelves.tools, "count_texts"), {})
    assert len(result.text) == LONGEST_RESULT


async def test_what_a_tool_says_about_its_failure_is_a_result() -> None:
    async with connected(shelf("fails")) as shelves:
        result = await shelves.call(tool_of(shelves.tools, "keep_text"), {"text": "milk"})
    assert (result.text, result.failed) == ("The shelf is full", True)


async def test_a_tool_that_the_server_no_longer_offers_is_not_called(tmp_path: Path) -> None:
    file = tmp_path / "calls"
    async with connected(shelf("changes", file)) as shelves:
        keep = tool_of(shelves.tools, "keep_text")
        await shelves.call(keep, {"text": "milk"})
        await until(lambda: len(shelves.tools) == 1)
        with pytest.raises(ToolServerDown, match="no longer offers"):
            await shelves.call(keep, {"text": "eggs"})
    assert "eggs" not in file.read_text()


async def test_a_server_that_always_reports_changes_is_listed_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lists"

    def lists() -> int:
        return file.read_text("utf-8").split().count("listed")

    monkeypatch.setattr(module, "RELIST_S", 600.0)
    async with connected(shelf("restless", file)) as shelves:
        await until(lambda: lists() == 2)
        for _ in range(20):
            await shelves.call(tool_of(shelves.tools, "count_texts"), {})
        assert lists() == 2
    file.unlink()
    monkeypatch.setattr(module, "RELIST_S", 0.05)
    async with connected(shelf("restless", file)):
        await until(lambda: lists() == 4)  # no report is lost


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": "no-such-program"}, "there is no program no-such-program"),
        ({"command": sys.executable, "args": ["-c", "import sys; sys.exit('no key')"]}, "no key"),
        ({"url": "http://127.0.0.1:9/mcp"}, "No tool server answers at"),
    ],
)
async def test_a_server_that_can_not_be_reached_says_why(
    settings: dict[str, object], said: str
) -> None:
    async with connected(ToolServer.model_validate(settings)) as server:
        assert server.state is ServerState.DOWN
        assert said in str(server.problem)


async def test_the_environment_of_a_server_is_minimal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSISTANT_PASSPHRASE", "secret")
    file = tmp_path / "environment"
    code = f"import json, os; open({str(file)!r}, 'w').write(json.dumps(dict(os.environ)))"
    server = ToolServer(command=sys.executable, args=("-c", code), env={"MY_TOKEN": "1"})
    async with connected(server):
        seen = json.loads(file.read_text())
    assert seen["MY_TOKEN"] == "1"
    assert seen.keys() - {*INHERITED, "MY_TOKEN", "LC_CTYPE"} == set()


async def test_the_log_has_no_arguments_of_a_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with connected(shelf()) as shelves:
        await until(lambda: "listening" in caplog.text)
        await shelves.call(tool_of(shelves.tools, "keep_text"), {"text": "my locker code"})
    assert "called with" not in caplog.text
    assert "locker" not in caplog.text


async def test_closing_ends_a_server_that_does_not_want_to_end(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    async with connected(shelf("stubborn", file)) as shelves:
        assert shelves.state is ServerState.READY
        pids = [int(each) for each in file.read_text().split()]
    assert len(pids) == 2, "the server and its child"
    await until(lambda: not any(map(runs, pids)))


async def test_a_killed_assistant_leaves_no_server_behind(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.support.tools import connected, shelf\n"
        "async def main():\n"
        "    async with connected(shelf('stubborn', Path(sys.argv[1]))):\n"
        "        print('ready', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())"
    )
    assistant = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(file)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert assistant.stdout is not None
    ready = await assistant.stdout.readline()
    pids = [int(each) for each in file.read_text().split()]
    assert ready == b"ready\n"
    assert all(map(runs, pids))
    assistant.kill()
    await assistant.wait()
    await until(lambda: not any(map(runs, pids)))
