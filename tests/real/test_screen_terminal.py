"""The screen in a real terminal: what it shows, how it handles disturbances, how it ends."""

import os
import re
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from assistant.paths import Home
from tests.support import keyrings
from tests.support.terminal import ROOT, Terminal, assistant_screen

pytestmark = pytest.mark.real

QUICK = {"ASSISTANT_MEMORY__ENABLED": "false", "ASSISTANT_ENCRYPTION__MODE": "off"}
NOISE = """
    import os, subprocess, sys, threading, time, warnings

    def noise():
        while True:
            os.write(1, b"NOISE\\n")
            os.write(2, b"NOISE\\n")
            print("NOISE", flush=True)
            print("NOISE", file=sys.stderr, flush=True)
            warnings.warn("NOISE")
            time.sleep(0.05)

    def begin():
        while "ui.process.logs" not in sys.modules or "ui.session.session" not in sys.modules:
            time.sleep(0.01)
        time.sleep(0.5)
        subprocess.run(["echo", "NOISE of a child"])
        noise()

    if any("ui." in word for word in sys.orig_argv):
        threading.Thread(target=begin, daemon=True).start()
"""
"""Prints like a talkative library, in both processes, once the screen uses the terminal."""
BREAKS = """
    import sys, threading, time

    def broken(self):
        secret = "SECRET"
        raise RuntimeError("a mistake")

    def begin():
        while not hasattr(sys.modules.get("ui.screen.app"), "AssistantScreen"):
            time.sleep(0.01)
        sys.modules["ui.screen.app"].AssistantScreen.action_help = broken

    threading.Thread(target=begin, daemon=True).start()
"""
"""Replaces a key's action by one that fails."""


def used(folder: Path) -> Home:
    """A home that was used before."""
    home = Home(folder / "home").create()
    home.settings_file.write_text("")
    return home


def with_site(folder: Path, code: str, **more: str) -> dict[str, str | None]:
    """An environment in which every Python runs `code` at its start."""
    (folder / "sitecustomize.py").write_text(textwrap.dedent(code))
    return {**QUICK, **more, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}


def restored(terminal: Terminal) -> bool:
    return not (terminal.flag("alternate_on") or terminal.flag("mouse_any_flag"))


def test_the_first_run_leads_to_a_conversation_and_shows_the_recovery_key_again(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    home = Home(tmp_path / "home")
    env = {**keyrings.environment(tmp_path / "keyring"), "ASSISTANT_MEMORY__ENABLED": "false"}
    env |= scripted
    with Terminal(assistant_screen(home.root), env=env) as terminal:
        terminal.wait_for("First steps: the microphone")
        terminal.press("Escape")
        shown = terminal.wait_for("First steps: the recovery key")
        found = re.search(r"(?:[A-Z0-9]{4}-){6}[A-Z0-9]{4}", shown)
        assert found is not None
        terminal.press("Escape")
        terminal.wait_for("Say hello, or press i and type.")
        terminal.press("i")
        terminal.type("Hello.")
        terminal.press("Enter")
        terminal.wait_for("you  Hello.")
        terminal.wait_gone("Say hello")
        terminal.press("C-q")
        terminal.wait_for(found[0])  # the user has not confirmed that it is written down
        assert restored(terminal)
    for log in (home.log, home.native_log):
        assert found[0] not in log.read_text()


def test_printed_text_does_not_disturb_the_screen_and_a_killed_assistant_is_restarted(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    home = used(tmp_path)
    env = with_site(tmp_path, NOISE, **scripted)
    with Terminal(assistant_screen(home.root), env=env) as terminal:
        before = terminal.wait_for("listening")
        if sys.platform == "linux":  # the screen waits for the voice, not the other way round
            own = [
                each.pid for each in terminal.processes() if "ui.commands.main" in each.cmdline()
            ]
            assert {os.sched_getscheduler(pid) for pid in own} == {os.SCHED_BATCH}
            assert os.sched_getscheduler(terminal.hosted().pid) == os.SCHED_OTHER
        terminal.press("i")
        terminal.type("draft")
        terminal.wait_for("draft")
        terminal.hosted().kill()
        stopped = terminal.wait_for("stopped")
        assert "ctrl+r" in stopped
        terminal.press("C-r")
        terminal.wait_gone("stopped")
        again = terminal.wait_for("listening")
        assert "draft" in again
        terminal.press("C-q")
        assert terminal.wait_end() == 0
        for shown in (before, stopped, again, terminal.text()):
            assert "NOISE" not in shown
        assert restored(terminal)
        assert terminal.wait_processes_end() == []
    assert "NOISE of a child" in home.native_log.read_text()


def test_a_crash_restores_the_terminal_and_is_reported_in_one_sentence(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    home = used(tmp_path)
    env = with_site(tmp_path, BREAKS, **scripted)
    with Terminal(assistant_screen(home.root), env=env) as terminal:
        terminal.wait_for("Conversation")
        terminal.press("?")
        terminal.wait_for("Something went wrong")
        told = " ".join(terminal.text().split())
        assert told.startswith(
            "Something went wrong unexpectedly (RuntimeError); the details are in"
        )
        assert "Traceback" not in told
        assert restored(terminal)
    log = home.log.read_text()
    assert "in broken" in log
    assert "a mistake" in log


@pytest.mark.parametrize("how", ["hang up", "terminate"])
def test_a_signal_ends_all_processes(how: str, tmp_path: Path) -> None:
    with Terminal(assistant_screen(used(tmp_path).root), env=QUICK) as terminal:
        terminal.wait_for("Conversation")
        terminal.hosted()
        if how == "hang up":
            terminal.hang_up()
        else:
            os.kill(terminal.pid, signal.SIGTERM)
            assert terminal.wait_end() == 128 + signal.SIGTERM
            assert restored(terminal)
        assert terminal.wait_processes_end() == []


def test_the_screen_ends_with_its_terminal_even_without_a_signal(tmp_path: Path) -> None:
    apart = ["setsid", "--wait", *assistant_screen(used(tmp_path).root)]
    with Terminal(apart, env=QUICK) as terminal:
        terminal.wait_for("Conversation")
        terminal.hang_up()
        assert terminal.wait_processes_end() == []


def test_the_screen_can_be_suspended_and_resumed_and_ctrl_c_only_shows_a_hint(
    tmp_path: Path, scripted: dict[str, str]
) -> None:
    command = " ".join(assistant_screen(used(tmp_path).root))
    with Terminal(["bash", "--norc", "-i"], env=QUICK | scripted) as terminal:
        terminal.type(command)
        terminal.press("Enter")
        terminal.wait_for("Conversation")
        terminal.press("C-z")
        terminal.wait_for("Stopped")
        assert restored(terminal)
        terminal.type("fg")
        terminal.press("Enter")
        terminal.wait_for(lambda text: "1 Talk" in text and "Injected memories" in text)
        terminal.press("C-c")
        terminal.wait_for("ctrl+q")
        terminal.press("C-q")
        terminal.wait_gone("Conversation")


def test_a_line_only_terminal_is_refused_in_one_sentence(tmp_path: Path) -> None:
    command = ["env", "TERM=dumb", *assistant_screen(used(tmp_path).root)]
    with Terminal(command, env=QUICK) as terminal:
        assert terminal.wait_end() == 2
        assert "can't be drawn on this terminal (TERM=dumb).\n→ assistant talk" in terminal.text()
