"""Uses the assistant for a minute; `tests/real/test_nothing_leaves.py` runs this program.

    python -m tests.support.day_offline CANARY

It holds a spoken conversation from a recording, and typed ones that state facts, ask for them and
forget them. It does idle work until there is none left, and opens the screen on a pseudo-terminal.
At the end it tries to reach the address CANARY, to prove that the watching test would notice a
connection. Prints how long everything took.
"""

import os
import pty
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data import located

LASTING_S = 62.0
"""Minimum duration: libraries may send reports only after they have been loaded for a while."""
SCREEN_S = 25.0
KEYS = ((8.0, b"i"), (9.0, b"What is my locker code?\r"))
LEAVE, GONE_S = b"\x11", 20.0
SETTINGS = {
    "ASSISTANT_GENERAL__PROFILE": "tiny",
    "ASSISTANT_CONTEXT__RESUME_WITHIN_H": "0",
    "ASSISTANT_IDLE__EVERY_S": "1",
    "ASSISTANT_IDLE__EXTRACT": "rules",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_ENCRYPTION__MODE": "off",
}
ASSISTANT = (sys.executable, "-m", "ui.commands.main")


def run(*arguments: str, lines: str = "") -> str:
    done = subprocess.run(
        [*ASSISTANT, *arguments],
        input=lines,
        capture_output=True,
        text=True,
        env=os.environ | SETTINGS,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def show_screen(seconds: float) -> None:
    """Open the screen, type a line and quit; the screen has to end by itself."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(SETTINGS, TERM="xterm-256color")
        os.execv(ASSISTANT[0], [*ASSISTANT, "screen"])
    began, keys = time.monotonic(), [*KEYS, (seconds, LEAVE)]
    drawn = 0
    while time.monotonic() - began < seconds + GONE_S:
        if keys and time.monotonic() - began > keys[0][0]:
            os.write(terminal, keys.pop(0)[1])
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            drawn += len(os.read(terminal, 65536))
        except OSError:  # a pseudo-terminal whose program has ended
            break
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status) or drawn < 1000:
        sys.exit(f"the screen drew {drawn} bytes and ended with status {status}")


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        answer = str(Path(folder) / "answer.wav")
        speech = str(located("recordings/today.flac"))
        run("talk", "--input", speech, "--output", answer, "--json")
    run("talk", "--text", lines="My locker code is 4471.\nMy sister Anna lives in Rome.\n")
    run("idle", "run", "--until-empty")
    lines = "Where does my sister live?\nMy dog is called Max.\nForget that.\n"
    asked = run("talk", "--text", "--json", lines=lines)
    if "Anna" not in asked:
        sys.exit(f"nothing was recalled: {asked}")
    run("memory", "forget", "--about", "locker", "--now", "--yes")
    run("memory", "verify-forgotten")
    show_screen(max(SCREEN_S, LASTING_S - (time.monotonic() - began)))
    with socket.socket() as canary:
        canary.settimeout(1)
        try:
            canary.connect((sys.argv[1], 9))
        except OSError as error:
            took = time.monotonic() - began
            sys.stdout.write(f"{took:.0f} s; the canary was refused: {error}\n")


if __name__ == "__main__":
    main()
