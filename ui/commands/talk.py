"""`assistant talk`: holds a conversation in plain lines. Turns are spoken, recorded or typed."""

import argparse
import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator

from assistant.app import Assistant, open_assistant
from assistant.compose import SessionPlan
from assistant.encryption import Vault
from assistant.errors import AssistantError
from assistant.event_bus import EventBus
from assistant.events import Event, Notice, Severity
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands import ReadSettings
from ui.commands.passphrase import unlock
from ui.commands.session_options import add_files, add_settings
from ui.process.console import PIPE_CLOSED_EXIT
from ui.process.logs import redirected_output
from ui.process.signals import end_on_signals
from ui.text.conversation import JsonView, PlainView, View

END_S = 1.5
"""Maximum seconds to close everything after a signal or a broken pipe."""
TYPED_COMMANDS = {
    "/mute": "close the microphone",
    "/unmute": "open the microphone",
    "/talk": "push-to-talk: open the microphone, and close it with the next /talk",
    "/stop": "stop speaking",
    "/sleep": "ignore everything until woken",
    "/wake": "listen again",
    "/record": "record the conversation for replay; the next /record ends it",
    "/quit": "end the conversation",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `talk`, and a description of the commands that may be typed."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    typed = "\n".join(f"  {name:<22}{what}" for name, what in TYPED_COMMANDS.items())
    parser.epilog = (
        f"typed during a conversation, each on its own line:\n  {'any text':<22}a turn\n{typed}\n\n"
        "Flags of all commands: assistant --help"
    )
    add_files(parser)
    parser.add_argument(
        "--text", action="store_true", help="read turns from standard input, one per line"
    )
    parser.add_argument(
        "--speak",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="with --text: speak the answers too (default: only if you type in a terminal)",
    )
    add_settings(parser)


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    """Hold a conversation until it ends; return the exit code."""
    read = settings().settings
    if args.pull:
        from ui.commands.models import pull_missing

        pull_missing(read, sys.stderr)
    vault = unlock(home, read)
    with redirected_output(home) as out:
        view = JsonView(out) if args.json else PlainView(out, read.persona.name)
        plan = SessionPlan(
            recordings=tuple(args.input),
            output=args.output,
            typed=args.text,
            speak=args.speak if args.speak is not None else not args.text or sys.stdin.isatty(),
            record=args.record,
        )
        return asyncio.run(_converse(home, read, plan, view, vault))


async def _converse(
    home: Home, settings: Settings, plan: SessionPlan, view: View, vault: Vault
) -> int:
    bus = EventBus()
    ended = asyncio.Event()
    received: list[int] = []
    broken: list[BrokenPipeError] = []

    def show(event: Event) -> None:
        """Show an event. End the conversation if nobody reads our output any more."""
        try:
            view.show(event)
        except BrokenPipeError as error:
            broken.append(error)
            ended.set()

    bus.subscribe(show)

    def stop(number: int) -> None:
        received.append(number)
        ended.set()

    end_on_signals(("SIGINT", "SIGTERM"), stop, 2 * END_S)
    session = asyncio.create_task(_session(home, settings, plan, bus, view, vault))
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait({session, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not session.done():
        session.cancel()
        await asyncio.wait({session}, timeout=END_S)
    if received or not session.done():
        # A thread inside a model can't be stopped, and is not worth waiting for.
        view.flush()
        os._exit(128 + received[0] if received else PIPE_CLOSED_EXIT)
    if broken:
        raise broken[0]
    if not session.cancelled():
        session.result()
    return 0


async def _session(
    home: Home, settings: Settings, plan: SessionPlan, bus: EventBus, view: View, vault: Vault
) -> None:
    async with open_assistant(home, settings, plan, bus, vault) as assistant:
        view.ready(hears=assistant.hears)
        if plan.typed or (not assistant.hears and not sys.stdin.isatty()):
            # One line is one turn; the next line is read when the answer has ended.
            await assistant.read_up()
            await _take_lines(assistant, bus, wait=True)
        elif plan.recordings:
            await assistant.recordings_ended()
        elif sys.stdin is not None and sys.stdin.isatty():
            await _take_lines(assistant, bus, wait=False)
        else:
            await asyncio.Event().wait()


async def _take_lines(assistant: Assistant, bus: EventBus, *, wait: bool) -> None:
    """Run typed turns and commands until /quit or the end of the input.

    A command begins with a slash.

    Args:
        wait: whether to wait for the answer to a turn before reading the next line.
    """
    async for line in _lines():
        text = line.strip()
        if text == "/quit":
            return
        if text.startswith("/"):
            await _run_typed_command(assistant, text, bus)
        elif text:
            await assistant.say(text)
            if wait:
                await assistant.answered()


async def _run_typed_command(assistant: Assistant, text: str, bus: EventBus) -> None:
    if text in TYPED_COMMANDS:
        try:
            await assistant.command(text[1:])
        except AssistantError as error:
            bus.emit(Notice(str(error), Severity.WARNING, error.mend))
    else:
        known = ", ".join(f"{name} ({what})" for name, what in TYPED_COMMANDS.items())
        bus.emit(Notice(f"There is no command {text}. Commands: {known}."))


def _is_waited_for(descriptor: int) -> bool:
    """Return whether the event loop can wait for this descriptor.

    It can't wait for plain files and /dev/null, which are always ready.
    """
    if os.isatty(descriptor):
        return True
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _lines() -> AsyncIterator[str]:
    """Yield the lines of standard input.

    Waiting for a line blocks neither the event loop nor the end of the program.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
    if not _is_waited_for(sys.stdin.fileno()):
        for data in sys.stdin.buffer:
            yield data.decode("utf-8", errors="replace")
        return
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    try:
        while data := await reader.readline():
            yield data.decode("utf-8", errors="replace")
    finally:
        transport.close()
