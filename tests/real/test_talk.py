"""The whole assistant with real models, given recordings and typed lines."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from models.interfaces import Samples
from tests.support.listening import Listener
from tests.support.talking import Talk

pytestmark = pytest.mark.real

TINY = ("--profile", "tiny")
BRIEF = (*TINY, "--set", "llm.max_answer_tokens=24")
"""Keeps answers as short as the tests allow, since they are played in real time."""


def test_a_recording_is_answered_silence_is_not_and_the_spoken_answer_equals_the_written_one(
    tmp_path: Path, speaker: Callable[[str], Samples], listener: Listener
) -> None:
    quiet, asked, out = (tmp_path / f"{name}.wav" for name in ("quiet", "asked", "out"))
    noise = np.random.default_rng(0).normal(0, 3, 32_000).astype(np.int16)
    soundfile.write(quiet, noise, 16_000)
    soundfile.write(asked, speaker("Tell me about the ocean."), 16_000)
    sure = ("--set", "llm.temperature=0", "--set", "llm.max_answer_tokens=40")
    inputs = ("--input", str(quiet), "--input", str(asked), "--output", str(out))
    with Talk(tmp_path, *TINY, *sure, *inputs, fresh=True) as talk:
        assert talk.finish() == 0
    assert talk.of("ended")[0]["turns"] == 1
    [turn] = talk.of("turn")
    assert "about the ocean" in turn["user"].lower()
    assert turn["assistant"]
    assert not turn["interrupted"]
    assert listener.word_error(out, turn["assistant"]) < 0.15
    latency = turn["latency_ms"]
    order = ["transcript", "recall", "first_token", "first_audio"]
    times = [latency[step] for step in order]
    assert times == sorted(times)
    assert turn["context_tokens"] > 20


@pytest.mark.alone
@pytest.mark.long
def test_two_recordings_are_two_turns_of_one_conversation(tmp_path: Path, question: Path) -> None:
    with Talk(tmp_path, *BRIEF, "--input", str(question), "--input", str(question)) as talk:
        assert talk.finish() == 0
    first, second = talk.of("turn")
    assert (first["turn"], second["turn"]) == (1, 2)
    assert second["context_tokens"] > first["context_tokens"]


def test_typed_lines_become_turns_without_any_connection_and_a_killed_worker_is_restarted(
    tmp_path: Path,
) -> None:
    """The interrupted turn ends with an answer or an apology. A killed assistant leaves no process
    behind."""
    seen = []
    with Talk(tmp_path, *BRIEF, "--text", fresh=True) as talk:
        talk.wait_for("ready")
        talk.say("Hello, I am Max.")
        talk.say("   ")
        talk.say("Tell me a long story about the sea and all its fish.")
        for event, fields in (("turn", {}), ("phase", {"phase": "thinking"})):
            for process in (psutil.Process(talk.process.pid), *talk.children()):
                seen += process.net_connections("inet")
            talk.wait_for(event, **fields)
        [worker] = [child for child in talk.children() if "llama_worker" in str(child.cmdline())]
        worker.kill()
        interrupted = talk.wait_for("turn")
        talk.say("Are you still there?")
        last = talk.wait_for("turn")
        children = list(talk.children())
        assert children
        os.kill(talk.process.pid, signal.SIGKILL)
        talk.process.wait()
        _, alive = psutil.wait_procs(children, timeout=10)
        assert not alive
    assert [str(c) for c in seen if c.raddr and not c.raddr.ip.startswith("127.")] == []
    assert [str(c) for c in seen if c.status == psutil.CONN_LISTEN] == []
    assert [turn["user"] for turn in talk.of("turn")] == [
        "Hello, I am Max.",
        "Tell me a long story about the sea and all its fish.",
        "Are you still there?",
    ]
    assert interrupted["assistant"]
    assert last["assistant"]
    assert "Sorry" not in last["assistant"]


def test_a_file_that_is_not_a_recording_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.wav"
    path.write_bytes(b"this is not sound")
    with Talk(tmp_path / "home", *TINY, "--input", str(path), fresh=True) as talk:
        assert talk.finish() == 4
    [error] = talk.of("error")
    assert "bad.wav" in error["message"]


@pytest.mark.parametrize("moment", ["starting", "ready", "thinking"])
def test_ctrl_c_ends_the_assistant_at_any_moment_and_leaves_no_process(
    tmp_path: Path, moment: str
) -> None:
    with Talk(tmp_path, *TINY, "--text", fresh=moment == "starting") as talk:
        if moment == "thinking":
            talk.wait_for("ready")
            talk.say("Tell me a long story about the sea and all its fish.")
        if moment == "ready":
            talk.wait_for("ready")
        else:
            talk.wait_for("phase", phase=moment)
        children = list(talk.children())
        talk.interrupt()
        assert talk.finish(timeout=10) == 128 + signal.SIGINT
    gone, alive = psutil.wait_procs(children, timeout=5)
    assert not alive
    assert len(gone) == len(children)
