"""The whole assistant with an object store that is down for a while, or used by another machine."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from assistant.language.speakers import USER
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from tests.support.command_line import in_this_process
from tests.support.object_store import endpoint
from tests.support.talking import Talk

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
URI = "s3://memories/mine"
KEY, SECRET = "AKIDTESTTESTTEST", "sEcReTsEcReTsEcReT"
NAMED = ("cat is called Kim", "dog is called Max", "fish is called Tom")
TINY = ("--profile", "tiny", "--text")


def environment(address: str) -> dict[str, str]:
    return {
        "ASSISTANT_MEMORY__ENABLED": "true",
        "ASSISTANT_MEMORY__STORE": URI,
        "ASSISTANT_CONTEXT__RESUME_WITHIN_H": "0",
        "ASSISTANT_MEMORY__DEADLINE_MS": "5000",  # the tests are not about speed
        "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


def remembered(server: ThreadedMotoServer) -> list[str]:
    """The user's words in the store."""
    options = {"endpoint": endpoint(server), "allow_http": "true", "region": "us-east-1"}
    options |= {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    with closing(MemoryTable.open(URI, storage_options=options, or_read=True)) as table:
        said = [each for batch in table.scan("me") for each in batch.memories()]
    return sorted(each.text for each in said if each.speaker == USER)


def written_in(*homes: Path) -> str:
    """The contents of the logs and all other files."""
    return "".join(
        path.read_text("utf-8", "replace")
        for home in homes
        for path in home.rglob("*")
        if path.is_file()
    )


def start_again(server: ThreadedMotoServer) -> ThreadedMotoServer:
    _, port = server.get_host_and_port()
    back = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    back.start()
    return back


def test_nothing_is_lost_if_the_store_is_down_at_the_start_or_later(
    tmp_path: Path, server: ThreadedMotoServer, scripted: dict[str, str]
) -> None:
    env = environment(endpoint(server)) | scripted
    server.stop()
    with Talk(tmp_path, *TINY, env=env) as talk:
        away = talk.wait_for("notice", severity="warning")
        assert away["text"] == f"The memory store {URI} can't be reached."
        talk.say("My cat is called Kim.")  # the conversation continues
        talk.wait_for("turn")
        done = in_this_process("memory", "list", home=tmp_path, **env)
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.startswith(f"The memory store {URI} can't be reached.\n")
        server = start_again(server)
        talk.wait_for("notice", text="Memories can be stored again.")
        talk.say("My dog is called Max.")
        talk.wait_for("turn")
        server.stop()
        talk.say("My fish is called Tom.")
        talk.wait_for("notice", text=away["text"])
        server = start_again(server)
        talk.wait_for("notice", text="Memories can be stored again.")
        talk.end_input()
        assert talk.finish() == 0
    assert remembered(server) == [f"My {it}." for it in NAMED]
    server.stop()
    told = done.stderr + json.dumps(talk.rows) + written_in(tmp_path)
    assert KEY not in told
    assert SECRET not in told


def test_a_second_machine_reads_the_first_ones_memories_and_writes_when_the_first_has_ended(
    tmp_path: Path, server: ThreadedMotoServer, scripted: dict[str, str]
) -> None:
    env = environment(endpoint(server)) | scripted
    with Talk(tmp_path / "here", *TINY, env=env) as first:
        first.wait_for("memories")
        first.say("My dog is called Max.")
        first.wait_for("turn")
        with Talk(tmp_path / "there", *TINY, env=env) as second:
            refused = second.wait_for("notice", severity="warning")["text"]
            assert refused.startswith(
                f"The memory store {URI} is in use by another assistant (process "
            )
            assert second.wait_for("memories")["count"] == 2
            second.say("Tell me, what is my dog called?")
            used = second.wait_for("turn")["memories"]
            assert "My dog is called Max." in [memory["text"] for memory in used]
            assert remembered(server) == ["My dog is called Max."]
            first.end_input()
            assert first.finish() == 0
            second.wait_for("notice", text="Memories can be stored again.")
            second.end_input()
            assert second.finish() == 0
            assert [row["text"] for row in second.of("notice")].count(refused) == 1
    assert remembered(server) == ["My dog is called Max.", "Tell me, what is my dog called?"]


@pytest.mark.long
def test_a_copy_of_a_home_forgets_the_same_exchange_even_from_its_resumed_conversation(
    tmp_path: Path,
) -> None:
    here, there, store = (tmp_path / name for name in ("here", "there", "store"))
    env = environment("http://127.0.0.1:9") | {
        "ASSISTANT_MEMORY__STORE": str(store),
        "ASSISTANT_CONTEXT__RESUME_WITHIN_H": "10",
    }
    with Talk(here, *TINY, env=env) as talk:
        talk.wait_for("memories")
        talk.say("My dog is called Max.")
        talk.wait_for("turn")
        talk.end_input()
        assert talk.finish() == 0
    shutil.copytree(here, there)
    with closing(Transcript.open(here / "transcript.sqlite3")) as transcript:
        [exchange] = transcript.exchange_ids("me")
    command = [
        sys.executable,
        "-m",
        "ui.commands.main",
        "--home",
        str(here),
        "memory",
        "forget",
        exchange,
        "--now",
    ]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, check=True, capture_output=True)
    with Talk(there, *TINY, env=env) as talk:
        talk.wait_for(
            "notice", text="Forgotten on another machine, and now here as well: 1 exchange."
        )
        talk.say("Tell me, what is my dog called?")
        answered = talk.wait_for("turn")
        assert answered["memories"] == []
        talk.end_input()
        assert talk.finish() == 0
    with closing(Transcript.open(there / "transcript.sqlite3")) as transcript:
        [(_, left)] = transcript.exchanges("me", transcript.exchange_ids("me"))
    assert left.user_text == "Tell me, what is my dog called?"
    with closing(MemoryTable.open(str(store))) as table:
        said = [each.text for batch in table.scan("me") for each in batch.memories()]
    assert "My dog is called Max." not in said
    assert not any(b"called Max" in path.read_bytes() for path in there.rglob("*.sqlite3*"))
