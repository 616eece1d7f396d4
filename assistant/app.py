"""The composition root: settings in, running assistant out.

The only place that builds concrete parts. User interfaces open an assistant with `open_assistant`,
watch its event bus, and call its methods for what the user wants.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from assistant.compose import AudioPlan, load_models
from assistant.compose.audio import load_detectors, open_audio
from assistant.compose.conversation import open_conversation, short_term_memory
from assistant.compose.engines import open_benchmark
from assistant.compose.idle import JobResources, start_idle_jobs
from assistant.compose.session_memory import open_session_memory, start_session_memory
from assistant.compose.skills import build_memory_commands
from assistant.encryption import Vault, open_vault
from assistant.events import (
    Event,
    EventBus,
    Phase,
    PhaseChanged,
    SessionEnded,
    SpeechIgnored,
    TurnEnded,
    UserSensed,
)
from assistant.idle import ACT as IDLE_ACT
from assistant.memory import Recorder, store_location
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import MemoryCommands
from assistant.voice import Dialogue, LatencyLog, VoiceLoop
from assistant.voice.audio import FileMicrophone

logger = logging.getLogger(__name__)

PAUSE_BETWEEN_FILES_S = 0.3


class Assistant:
    """A running assistant: everything a user interface may ask of it."""

    def __init__(
        self,
        bus: EventBus,
        dialogue: Dialogue,
        loop: VoiceLoop,
        recordings: FileMicrophone | None,
        recorder: Recorder,
        *,
        push_to_talk: bool,
    ) -> None:
        self._bus = bus
        self._recorder = recorder
        self._dialogue = dialogue
        self._loop = loop
        self._recordings = recordings
        self._push_to_talk = push_to_talk
        self._turn_over = asyncio.Event()
        bus.subscribe(self._watch)

    def _watch(self, event: Event) -> None:
        if isinstance(event, TurnEnded | SpeechIgnored):
            self._turn_over.set()

    @property
    def hears(self) -> bool:
        """Whether there is a microphone, or recordings in its place."""
        return self._loop.hears

    async def say(self, text: str) -> None:
        """Take a typed turn."""
        self._turn_over.clear()
        self._bus.emit(UserSensed())
        await self._loop.say(text)

    async def answered(self) -> None:
        """Wait until the last turn is answered and the model's cache holds it."""
        await self._turn_over.wait()
        await self._dialogue.quiet()
        await self.read_up()

    async def read_up(self) -> None:
        """Wait until the model's cache holds the conversation so far."""
        await self._dialogue.cache.warmed()

    async def recordings_ended(self) -> None:
        """Play all recordings, each once the one before is answered; return after the last."""
        microphone = self._recordings
        if microphone is None:
            return
        while True:
            self._turn_over.clear()
            ended = {
                asyncio.create_task(microphone.waiting.wait()),
                asyncio.create_task(microphone.exhausted.wait()),
            }
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.cancel()
            await self._loop.settled()
            if microphone.exhausted.is_set():
                return
            await self._dialogue.cache.warmed()
            await asyncio.sleep(PAUSE_BETWEEN_FILES_S)
            microphone.next()

    async def mute(self, muted: bool) -> None:
        """Close or open the microphone. While it is closed, nothing becomes a turn or is kept."""
        self._loop.hear.open = not muted
        self._dialogue.mute(muted)

    async def talk_key(self) -> None:
        """Push-to-talk: open the microphone, or close it and answer what was said."""
        if self._loop.hear.open:
            await self._loop.hear.release()
            await self.mute(muted=True)
        else:
            await self._loop.stop_speaking()
            await self.mute(muted=False)

    async def stop_speaking(self) -> None:
        await self._loop.stop_speaking()

    async def record(self, path: Path | None = None) -> None:
        """Write the conversation's events to a file from now on; by default, one in the home.

        Raises:
            StoreError: the file can't be written.
        """
        await self._recorder.start(path)

    async def command(self, name: str) -> None:
        """Run one of: mute, unmute, talk, stop, sleep, wake, off-record, on-record, record.

        `record` starts a recording, or stops the one under way.

        Raises:
            StoreError: the recording can't be written.
        """
        if name in ("mute", "unmute"):
            await self.mute(muted=name == "mute")
        elif name == "talk":
            await self.talk_key()
        elif name == "stop":
            await self.stop_speaking()
        elif name == "sleep":
            await self._loop.hear.give_up("asleep")
            self._dialogue.sleep()
        elif name == "wake":
            self._dialogue.wake()
        elif name == "record":
            await (self._recorder.stop() if self._recorder.path else self._recorder.start())
        elif name in ("off-record", "on-record") and self._dialogue.off_record != (
            name == "off-record"
        ):
            self._dialogue.record(off=name == "off-record")

    async def start(self) -> None:
        """Begin listening."""
        await self._loop.start()
        if self._push_to_talk:
            await self.mute(muted=True)
        self._dialogue.listen()

    async def close(self) -> None:
        await self._loop.close()
        await self._dialogue.close()
        self._bus.emit(SessionEnded(self._dialogue.turns))


@asynccontextmanager
async def open_assistant(
    home: Home, settings: Settings, plan: AudioPlan, bus: EventBus, vault: Vault | None = None
) -> AsyncIterator[Assistant]:
    """A listening assistant; leaving the block closes it and ends all its processes.

    Args:
        vault: the home's; closed with the assistant. Default: opened without prompting anyone.

    Raises:
        AssistantError: something it needs is missing or broken.
    """
    bus.emit(PhaseChanged(Phase.STARTING))
    home.create()
    async with AsyncExitStack() as stack:
        if vault is None:
            vault = await asyncio.to_thread(open_vault, home, settings)
        stack.callback(vault.close)
        store_location(home, settings)  # fails early if the address can't be used
        recorder = Recorder(bus)
        stack.push_async_callback(recorder.stop)
        recordings = FileMicrophone(plan.recordings) if plan.recordings else None
        parts: list[VoiceLoop] = []
        sound = await open_audio(settings, plan, bus, recordings, partial(_tell_of_sound, parts))
        hears = sound.microphone is not None
        detectors = asyncio.create_task(asyncio.to_thread(load_detectors))
        stack.callback(detectors.cancel)
        models = await load_models(home, settings, bus, hears=hears, speaks=sound.speaks)
        stack.push_async_callback(models.llm.close)
        memory = await open_session_memory(home, settings, bus, vault.key, stack)
        conversation = await open_conversation(memory, settings, bus)
        window = short_term_memory(conversation, models.llm, settings, memory, bus)
        recaller = None
        if memory is not None:
            recaller = memory.turn_recall(window.shown, lambda: window.conversation.exchanges)
        dialogue = Dialogue(settings, bus, models.llm, window, LatencyLog(home.ledger))
        commands: MemoryCommands | None = None
        if memory is not None:
            recorder.keep_in(memory.transcript.recordings, lambda: window.conversation.id)
            commands = await build_memory_commands(memory, settings, bus, dialogue, window)
        loop = VoiceLoop(settings, dialogue, models, sound, await detectors, recaller, commands)
        parts.append(loop)
        assistant = Assistant(
            bus, dialogue, loop, recordings, recorder, push_to_talk=settings.audio.push_to_talk
        )
        stack.push_async_callback(assistant.close)
        await assistant.start()
        if memory is not None and commands is not None:
            measured = await asyncio.to_thread(open_benchmark, home, settings)
            jobs = JobResources(
                settings, memory.transcript, memory.session_user, models.llm, measured
            )
            answer = start_idle_jobs(jobs, bus, stack, window.summarized, dialogue.cache.warmed)
            handlers = {IDLE_ACT: answer}
            start_session_memory(memory, home, dialogue, commands.forgetting, handlers, bus, stack)
            expiring = asyncio.create_task(memory.expire(window.conversation.id))
            stack.callback(expiring.cancel)
        yield assistant


def _tell_of_sound(parts: list[VoiceLoop], works: bool) -> None:
    for part in parts:
        part.sound(works=works)
