"""Uses the assistant for a minute; `tests/real/test_nothing_leaves.py` runs this program.

    python -m tests.support.day_offline CANARY

It holds a spoken conversation from a recording, and a typed one that states facts. It does idle
work until there is none left, and forgets one fact. Then it opens the screen on a pseudo-terminal,
takes a statement back there, and asks for the other fact. At the end it tries to reach the address
CANARY, to prove that the watching test would notice a connection. Prints how long everything took.
"""

import json
import os
import pty
import select
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from assistant.memory.records.ids import origin_of
from assistant.paths import default_home
from data import located
from tests.support.patience import PATIENCE_S

LASTING_S = 62.0
"""Minimum duration: libraries may send reports only after they have been loaded for a while."""
SCREEN_S = 25.0
FACT, QUESTION = "My sister Anna lives in Rome.", "Where does my sister live?"
STATEMENT = "My dog is called Max."
LEAVE = b"\x11"
SETTINGS = {
    "ASSISTANT_GENERAL__PROFILE": "tiny",
    "ASSISTANT_CONTEXT__RESUME_WITHIN_H": "0",
    "ASSISTANT_IDLE__EVERY_S": "1",
    "ASSISTANT_IDLE__EXTRACT": "rules",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "8",
    "ASSISTANT_MEMORY__DEADLINE_MS": "5000",
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


def said() -> dict[str, str]:
    """The user's words in the transcript, each with the log of the memories recalled for them."""
    with closing(sqlite3.connect(default_home().transcript)) as db:
        return dict(db.execute("SELECT user_text, memories FROM exchange"))


def taken_back() -> bool:
    """Whether something is hidden, and will be deleted once it can no longer be brought back."""
    with closing(sqlite3.connect(default_home().transcript)) as db:
        return db.execute("SELECT 1 FROM hidden").fetchone() is not None


def recalled(question: str) -> set[str]:
    """What the user had said of which the prompt for a question contained a memory."""
    log = json.loads(said()[question])
    origins = {origin_of(key) for key, _score, *left_out in log if not left_out}
    with closing(sqlite3.connect(default_home().transcript)) as db:
        return {
            text for key, text in db.execute("SELECT id, user_text FROM exchange") if key in origins
        }


def keys(drawn: bytearray, until: float) -> Iterator[tuple[bytes, Callable[[], bool]]]:
    """Keys to press, each with the condition for pressing it."""
    yield b"i", lambda: b"listening" in drawn
    yield f"{STATEMENT}\r".encode(), lambda: True
    yield b"Forget that.\r", lambda: STATEMENT in said()
    yield f"{QUESTION}\r".encode(), taken_back
    yield LEAVE, lambda: QUESTION in said() and time.monotonic() > until


def show_screen(seconds: float) -> None:
    """Open the screen, type a few lines and quit; the screen has to end by itself."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(SETTINGS, TERM="xterm-256color")
        os.execv(ASSISTANT[0], [*ASSISTANT, "screen"])
    began, drawn = time.monotonic(), bytearray()
    pressing = keys(drawn, began + seconds)
    key, due = next(pressing)
    while time.monotonic() - began < seconds + PATIENCE_S:
        if due():
            os.write(terminal, key)
            key, due = next(pressing, (b"", lambda: False))
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            drawn += os.read(terminal, 65536)
        except OSError:  # a pseudo-terminal whose program has ended
            break
    else:
        sys.exit(f"the screen did not end; next key: {key!r}")
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status) or key:
        sys.exit(f"the screen ended with status {status} before {key!r} was pressed")


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        answer = str(Path(folder) / "answer.wav")
        speech = str(located("recordings/today.flac"))
        run("talk", "--input", speech, "--output", answer, "--json")
    run("talk", "--text", lines=f"My locker code is 4471.\n{FACT}\n")
    run("idle", "run", "--until-empty")
    run("memory", "forget", "--about", "locker", "--now", "--yes")
    run("memory", "verify-forgotten")
    show_screen(max(SCREEN_S, LASTING_S - (time.monotonic() - began)))
    if FACT not in recalled(QUESTION):
        sys.exit(f"{FACT!r} was not recalled: {said()}")
    with socket.socket() as canary:
        canary.settimeout(1)
        try:
            canary.connect((sys.argv[1], 9))
        except OSError as error:
            took = time.monotonic() - began
            sys.stdout.write(f"{took:.0f} s; the canary was refused: {error}\n")


if __name__ == "__main__":
    main()
