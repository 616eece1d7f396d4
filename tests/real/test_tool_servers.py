"""Real tool servers from the package index, the real encoder, and a scripted choice of the tool."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from git import Repo

from assistant.compose.engines import build_query_encoder
from assistant.intents import Command, CommandKind, Intent
from assistant.memory import QueryEncoder
from assistant.settings import Settings
from assistant.skills.abilities import Abilities, ModelInUse
from assistant.skills.registry import SkillRegistry
from assistant.skills.tools.tools import LEAST_ACT, LEAST_TALK, Tools
from assistant.tool_server_settings import ToolServer
from assistant.tool_servers import ToolIndex, ToolServers
from models.selection import select_models
from tests.support import http_tool_server
from tests.support.fakes import ScriptedLlm
from tests.support.patience import PATIENCE_S
from tests.support.tools import connected, tool_of

pytestmark = pytest.mark.real

REQUESTS = {
    "convert 9 am New York time to London time": "convert_time",
    "create a branch called holidays": "git_create_branch",
    "which branches are there": "git_branch",
    "what's the git status": "git_status",
    "what were the latest commits": "git_log",
    "make a new git branch named summer": "git_create_branch",
}
"""Requests, and the names of the tools that they ask for."""
TALK = (
    "I slept badly last night.",
    "What's a good name for a hamster?",
    "My sister just moved to Leipzig.",
    "Why is the sky blue?",
    "Tell me a joke about penguins.",
)


@pytest.fixture(scope="module")
def encoder() -> Iterator[QueryEncoder]:
    made = build_query_encoder(
        select_models(Settings.model_validate({"general": {"profile": "tiny"}}))
    )
    made.load()
    yield made
    made.close()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repo]:
    with Repo.init(tmp_path / "notes", initial_branch="main") as repo:
        with repo.config_writer() as config:
            config.set_value("user", "name", "Ann")
            config.set_value("user", "email", "ann@example.com")
        (tmp_path / "notes" / "shopping.txt").write_text("milk", encoding="utf-8")
        repo.index.add(["shopping.txt"])
        repo.index.commit("first list")
        yield repo


def clock() -> ToolServer:
    module = ("-m", "mcp_server_time", "--local-timezone", "Europe/London")
    return ToolServer(command=sys.executable, args=module)


def git(repo: Repo) -> ToolServer:
    folder = str(repo.working_tree_dir)
    arguments = ("-m", "mcp_server_git")
    return ToolServer(command=sys.executable, args=arguments, defaults={"repo_path": folder})


def chooses(tool: str, **arguments: object) -> str:
    return json.dumps({"choice": {"tool": tool, **arguments}})


@asynccontextmanager
async def registry(
    encoder: QueryEncoder, settings: Mapping[str, ToolServer], *replies: str
) -> AsyncIterator[tuple[SkillRegistry, Tools, ToolIndex]]:
    servers, index = ToolServers(settings), ToolIndex(encoder.encode_apart)
    llm = ScriptedLlm(*replies)
    tools = Tools(servers, index, encoder.encode_apart, llm, lambda: False, lambda _: None)
    servers.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            reports = await servers.settled()
        assert [each.problem for each in reports] == [""] * len(settings)
        index.build(servers.tools)
        abilities = Abilities(frozenset, lambda: ModelInUse("Some model"), tools)
        yield SkillRegistry([abilities]), tools, index
    finally:
        await servers.close()


async def hear(skills: SkillRegistry, text: str) -> str:
    reply = await skills.carry_out(Intent(Command(CommandKind.ACT, words=text)))
    assert reply is not None
    return reply.text


async def agree(skills: SkillRegistry) -> str:
    act = skills.answer("Yes.")
    assert act is not None
    return (await act()).text


async def test_the_time_elsewhere_is_told_at_once(encoder: QueryEncoder) -> None:
    choice = chooses(
        "clock.convert_time",
        source_timezone="Asia/Tokyo",
        time="09:00",
        target_timezone="Asia/Kolkata",
    )
    sentence = json.dumps({"answer": "It's 5:30 in Kolkata."})
    async with registry(encoder, {"clock": clock()}, choice, sentence) as (skills, _, _):
        said = await hear(skills, "Convert nine am in Tokyo to the timezone of Kolkata.")
    assert said == "It's 5:30 in Kolkata."


async def test_a_branch_is_created_after_a_yes_and_only_in_the_folder_of_the_settings(
    encoder: QueryEncoder, repository: Repo
) -> None:
    choice = chooses("git.git_create_branch", branch_name="Holidays", base_branch="develop")
    async with registry(encoder, {"git": git(repository)}, choice) as (skills, _, _):
        asked = await hear(skills, "Create a branch called holidays.")
        assert asked == (
            "Shall I run create branch on the git server, with the branch name holidays?"
        )
        assert [each.name for each in repository.heads] == ["main"]
        assert (await agree(skills)).startswith("Done.")
    assert [each.name for each in repository.heads] == ["holidays", "main"]


async def test_a_file_that_is_not_named_is_asked_for(
    encoder: QueryEncoder, repository: Repo
) -> None:
    Path(str(repository.working_tree_dir), "letter.txt").write_text("Dear Ann", encoding="utf-8")
    choice = chooses("git.git_add", files=["report.txt"])
    async with registry(encoder, {"git": git(repository)}, choice) as (skills, _, _):
        assert await hear(skills, "Add a file to the git staging area.") == "What are the files?"
        reply = await skills.said("letter.txt")
        assert reply is not None
        assert reply.text == "Shall I run add on the git server, with the files letter.txt?"
        assert (await agree(skills)).startswith("Done.")
    assert repository.git.ls_files("letter.txt") == "letter.txt"


async def test_a_failure_of_the_tool_is_told(encoder: QueryEncoder, repository: Repo) -> None:
    choice = chooses("git.git_create_branch", branch_name="main")
    async with registry(encoder, {"git": git(repository)}, choice) as (skills, _, _):
        await hear(skills, "Create a branch called main.")
        assert (await agree(skills)).startswith("The git server says it didn't work")


async def test_requests_find_their_tool_and_talk_finds_none(
    encoder: QueryEncoder, repository: Repo
) -> None:
    settings = {"clock": clock(), "git": git(repository)}
    async with registry(encoder, settings) as (_, tools, index):
        for text, name in REQUESTS.items():
            [vector] = encoder.encode_apart([text])
            assert name in [each.tool.name for each in index.find(vector, LEAST_ACT, 3)], text
            assert await tools.find(text) is not None, text
        for each in encoder.encode_apart(TALK):
            assert index.find(each, LEAST_TALK, 3) == []


@pytest.fixture
async def adder(unused_port: int) -> AsyncIterator[str]:
    """The address of a tool server that runs on this machine."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(http_tool_server.__file__)), str(unused_port)),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(listens, unused_port):
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{unused_port}/mcp"
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
def unused_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_a_server_that_already_runs_on_this_machine_is_used(
    adder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody answers there
    async with connected(ToolServer(url=adder)) as server:
        assert server.problem is None
        add = tool_of(server.tools, "add_numbers")
        assert (add.read_only, add.confirmed) == (True, False)
        result = await server.call(add, {"first": 2, "second": 40})
    assert result.text == "The sum is 42"
