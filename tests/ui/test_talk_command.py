"""The plain loop ends when it should, even if a part of it doesn't."""

import signal
import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE_S
from ui.process.console import PIPE_CLOSED_EXIT

STUBBORN = """
import asyncio, sys
from assistant.compose import SessionPlan
from assistant.events import Notice
from assistant.paths import Home
from assistant.settings import Settings
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
asyncio.run(talk._converse(Home(None), Settings(), SessionPlan(), view, None))
"""


@pytest.mark.parametrize(
    ("what", "reader_gone"),
    [
        ("bus.emit(Notice('Begun.')); await hears_nothing()", False),
        (
            "talk.left = asyncio.create_task(hears_nothing()); await asyncio.sleep(0);"
            " bus.emit(Notice('Begun.')); raise OSError",
            False,
        ),
        ("while True: bus.emit(Notice('Begun.' + 1_000 * 'x'))", False),
        (
            "talk.left = asyncio.create_task(hears_nothing());\n"
            "    while True:\n"
            "        bus.emit(Notice('Begun.'))\n"
            "        try: await asyncio.sleep(.1)\n"
            "        except asyncio.CancelledError: pass\n",
            True,
        ),
    ],
    ids=["endless conversation", "leftover task", "endless output", "closed reader"],
)
def test_a_signal_or_a_closed_reader_ends_the_loop_even_if_a_part_does_not_end(
    what: str, reader_gone: bool
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN.format(what=what)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert "Begun." in process.stdout.readline()
            if reader_gone:
                process.stdout.close()
            else:
                process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE_S)
        finally:
            process.kill()
    assert code == (PIPE_CLOSED_EXIT if reader_gone else 128 + signal.SIGTERM)
