"""`assistant` or `assistant screen`: shows a conversation with the assistant on the screen.

The user can watch the assistant listen, think and remember. Modules that the first frame doesn't
need are imported later: those for encryption, models and sound.
"""

import argparse
import gc
import os
import sys

from assistant.paths import Home
from ui.commands import ReadSettings
from ui.commands.session_options import add_files, add_settings
from ui.process.console import UnexpectedError, render_error
from ui.process.logs import redirected_output
from ui.process.scheduling import use_batch_scheduling


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_files(parser)
    add_settings(parser)


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    """Show the screen until the user leaves it, then end the process with an exit code.

    Raises:
        SettingsError: there is no terminal.
    """
    loaded = settings()
    if args.pull:
        from ui.commands.models import pull_missing

        pull_missing(loaded.settings, sys.stderr)
    from ui.screen.terminal import drawing_on, require_terminal

    require_terminal()
    use_batch_scheduling()
    with redirected_output(home) as out:
        from assistant.compose import SessionPlan
        from ui.screen.app import AssistantScreen
        from ui.screen.first_run.first_run import FirstRun, is_new
        from ui.screen.safe_app import draw
        from ui.screen.unlock_dialog import Unlocking
        from ui.session.assistant_process import AssistantProcess

        unlocking = Unlocking(home, loaded.settings)
        plan = SessionPlan(tuple(args.input), args.output, record=args.record)
        session = AssistantProcess(home, loaded.settings, unlocking, plan)
        guide = FirstRun(home, new=is_new(home), listens=not plan.recordings)
        app = AssistantScreen(session, home, loaded, drawing_on(out), guide)
        unlocking.app = app
        gc.freeze()  # scanning all imported objects would delay a frame by 0.1 s
        code = draw(app, session)
    session.release()
    if unlocking.unseen is not None:
        from ui.commands.passphrase import show_recovery

        show_recovery(unlocking.unseen, sys.stderr)
    error = app.error if app.crash is None else UnexpectedError(app.crash, home.log)
    if error is not None:
        render_error(error, as_json=False)
        code = code or error.exit_code
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread that is importing or downloading can't be stopped, and could delay the end.
    os._exit(code)
