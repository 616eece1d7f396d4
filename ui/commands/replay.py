"""`assistant replay`: plays a recorded conversation on the screen, or prints it."""

import argparse
import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from assistant.encryption import open_vault
from assistant.errors import SettingsError, StoreError
from assistant.ipc import event_to_json
from assistant.memory import Recordings, is_sealed, read_recording
from assistant.paths import Home
from assistant.settings import Loaded
from data import located
from ui.commands import ReadSettings
from ui.commands.passphrase import ask
from ui.process.console import print_json
from ui.process.logs import redirected_output
from ui.session.replay import PlayableRecording, Replay
from ui.text.conversation import PlainView

DEMO = "demo"
FASTEST = 1000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Play a recorded conversation back: on the screen or, without a terminal, as plain lines. "
        "To record a conversation, press r on the screen, or use talk --record."
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a recording, or the name of one in your data folder; demo ships with the program; "
        "default: list all recordings",
    )
    parser.add_argument("--speed", default="1", metavar="X", help="2 is twice as fast; default: 1")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    """Play or print a recording, or list all recordings; return the exit code.

    Raises:
        SettingsError: the speed is invalid.
        StoreError: there is no such recording, or it can't be read.
    """
    loaded, speed = settings(), _speed(args.speed)
    if args.file is None:
        _list(home, as_json=args.json)
        return 0
    path = recording_file(home, args.file)
    with ExitStack() as stack:
        key = None
        if is_sealed(path):
            vault = open_vault(home, loaded.settings, ask)
            stack.callback(vault.close)
            key = vault.key
        recording = PlayableRecording.of(read_recording(home, path, key), path)
    if args.json:
        for at, event in recording.events:
            print_json({"at": at.isoformat(), "event": event_to_json(event)})
    elif sys.stdin.isatty() and sys.stdout.isatty():
        return _play(recording, speed, home, loaded)
    else:
        view = PlainView(sys.stdout, loaded.settings.persona.name)
        if recording.notice is not None:
            view.show(recording.notice)
        for _, event in recording.events:
            view.show(event)
    return 0


def recording_file(home: Home, named: str) -> Path:
    """Return the file of a recording.

    Args:
        named: a path, the name of a recording in the home, or `demo`.

    Raises:
        StoreError: there is no such recording.
    """
    file = f"{named.removesuffix('.jsonl')}.jsonl"
    for path in (Path(named).expanduser(), home.recordings / file):
        if path.is_file():
            return path
    if named == DEMO:
        return located(f"recordings/{DEMO}.jsonl")
    raise StoreError(f"There is no recording {named}.", mend="assistant replay")


def _speed(typed: str) -> float:
    try:
        speed = float(typed)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise SettingsError(
            f"The speed must be above 0 and at most {FASTEST:g}, not {typed!r}.",
            mend="assistant replay FILE --speed 2",
        )
    return speed


def _list(home: Home, *, as_json: bool) -> None:
    paths = Recordings(home.recordings).paths()
    if as_json:
        for path in paths:
            print_json({"event": "recording", "path": str(path)})
        return
    for path in paths:
        when = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        print(f"{path.stem}  {path.stat().st_size / 1000:,.0f} kB  ended {when:%Y-%m-%d %H:%M}")
    if not paths:
        print("No recordings yet. To make one, press r on the screen, or: assistant talk --record")
    print("demo  ships with the program")


def _play(recording: PlayableRecording, speed: float, home: Home, loaded: Loaded) -> int:
    with redirected_output(home) as out:
        from ui.screen.replay_screen import ReplayScreen
        from ui.screen.safe_app import draw
        from ui.screen.terminal import drawing_on

        replay = Replay(recording, speed)
        app = ReplayScreen(replay, home, loaded, drawing_on(out))
        code: int = draw(app, replay)
    if app.crash is not None:
        raise app.crash
    return code
