"""The plain loop ends when it is told to, whatever does not."""

import signal
import subprocess
import sys

import pytest

from ui.process.console import PIPE_CLOSED_EXIT

PATIENCE_S = 60
STUBBORN = """
import asyncio, sys
from pathlib import Path
from assistant.encryption.vault import Vault
from assistant.events import Notice
from assistant.paths import Home
from assistant.settings import Settings
from assistant.compose.audio import AudioPlan
from ui.commands import talk
from ui.text.conversation import JsonView

async def hears_nothing():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            print("no", file=sys.stderr, flush=True)

async def session(home, settings, plan, bus, *rest):
    {what}

talk._session = session
view = JsonView(sys.stdout)
asyncio.run(talk._converse(Home(None), Settings(), AudioPlan(), view, None, None))
"""


def begun(what: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    script = STUBBORN.format(what=what)
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> int:
    try:
        return process.wait(PATIENCE_S)
    finally:
        process.kill()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize(
    "what",
    [
        "bus.emit(Notice('Begun.')); await hears_nothing()",
        "talk.left = asyncio.create_task(hears_nothing()); await asyncio.sleep(0);"
        " bus.emit(Notice('Begun.')); raise OSError",
        "while True: bus.emit(Notice('Begun.' + 1_000 * 'x'))",
    ],
    ids=["the conversation", "what it left behind", "what is printed"],
)
def test_a_signal_ends_it_though_something_does_not_end(what: str) -> None:
    process = begun(what)
    assert process.stdout is not None
    assert "Begun." in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 128 + signal.SIGTERM


def test_so_does_a_reader_that_has_gone() -> None:
    process = begun(
        "talk.left = asyncio.create_task(hears_nothing());\n"
        "    while True:\n"
        "        bus.emit(Notice('Begun.'))\n"
        "        try: await asyncio.sleep(.1)\n"
        "        except asyncio.CancelledError: pass\n"
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert "Begun." in process.stdout.readline()
    process.stdout.close()
    assert ended(process) == PIPE_CLOSED_EXIT
