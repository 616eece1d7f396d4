"""Builds a running assistant from the settings.

Only this module and `assistant.compose` choose and connect concrete classes. A user interface opens
an assistant with `open_assistant`, subscribes to its event bus, and calls its methods on behalf of
the user.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from assistant.compose import SessionPlan, load_models
from assistant.compose.activities import open_activities
from assistant.compose.adapted_models import (
    build_intent_classifier,
    build_reranker,
    build_slot_reader,
    build_turn_judge,
    find,
)
from assistant.compose.audio import load_detectors, no_detectors, open_audio
from assistant.compose.conversation import (
    build_skills,
    open_short_term_memory,
    skills_about_itself,
)
from assistant.compose.engines import (
    model_in_use,
    open_benchmark,
)
from assistant.compose.idle import JobResources, start_idle_jobs
from assistant.compose.session_memory import open_session_memory, start_session_memory
from assistant.compose.state import open_state, start_state
from assistant.compose.tools import open_tools
from assistant.context import ShortTermMemory
from assistant.encryption import Vault
from assistant.event_bus import EventBus
from assistant.events import (
    Event,
    Phase,
    PhaseChanged,
    SessionEnded,
    SpeechIgnored,
    TurnEnded,
    UserSensed,
)
from assistant.idle import ACT as IDLE_ACT
from assistant.memory import MemoryService, Recorder, Reranking, store_location
from assistant.paths import Home
from assistant.settings import Audio, Settings
from assistant.skills import Remark
from assistant.voice import (
    Dialogue,
    EndOfTurn,
    LatencyLog,
    Recaller,
    Ringing,
    Speech,
    VoiceControl,
    VoiceDetector,
    VoiceLoop,
    read_weights,
)
from assistant.voice.audio import FileMicrophone
from models.selection import ModelSelection, select_models

PAUSE_BETWEEN_FILES_S = 0.3


class Assistant:
    """A running assistant, with every operation that a user interface needs."""

    def __init__(
        self,
        bus: EventBus,
        dialogue: Dialogue,
        loop: VoiceLoop,
        recordings: FileMicrophone | None,
        recorder: Recorder,
        settings: Audio,
    ) -> None:
        self._bus = bus
        self._recorder = recorder
        self._dialogue = dialogue
        self._loop = loop
        self._recordings = recordings
        self._push_to_talk = settings.push_to_talk
        self._turn_over = asyncio.Event()
        bus.subscribe(self._watch)

    @property
    def hears(self) -> bool:
        """Whether the assistant has a microphone, or recordings to play instead."""
        return self._loop.hears

    async def say(self, text: str) -> None:
        """Start a turn with text that the user typed."""
        self._turn_over.clear()
        self._bus.emit(UserSensed())
        await self._loop.say(text)

    async def answered(self) -> None:
        """Wait until the last turn has been answered and the model's KV cache contains it."""
        await self._turn_over.wait()
        await self._dialogue.quiet.wait()
        await self.read_up()

    async def read_up(self) -> None:
        """Wait until the model's KV cache contains the conversation so far."""
        await self._dialogue.cache.warmed()

    async def recordings_ended(self) -> None:
        """Play all recordings in place of a microphone, each after the previous one has been
        answered. Return after the last answer. Without recordings, return at once."""
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

    async def command(self, name: str) -> None:
        """Run a command: mute, unmute, talk, stop, sleep, wake, off-record, on-record or record.

        While the microphone is muted, speech starts no turn and is not stored. `talk`
        (push-to-talk) opens the microphone. If the microphone is already open, `talk` closes it and
        answers what the user said. `record` starts a recording, or stops the recording in progress.

        Raises:
            StoreError: the recording can't be written.
        """
        match name:
            case "mute" | "unmute":
                self._mute(name == "mute")
            case "talk" if self._loop.hear.open:
                await self._loop.hear.release()
                self._mute(True)
            case "talk":
                await self._loop.stop_speaking()
                self._mute(False)
            case "stop":
                await self._loop.stop_speaking()
            case "sleep":
                await self._loop.hear.give_up("asleep")
                self._dialogue.sleep()
            case "wake":
                self._dialogue.wake()
            case "record":
                await (self._recorder.stop() if self._recorder.path else self._recorder.start())
            case "off-record" | "on-record":
                off = name == "off-record"
                if self._dialogue.off_record != off:
                    self._dialogue.record(off=off)

    async def start(self) -> None:
        """Begin listening."""
        await self._loop.start()
        if self._push_to_talk:
            self._mute(True)
        self._dialogue.listen()

    async def close(self) -> None:
        await self._loop.close()
        await self._dialogue.close()
        self._bus.emit(SessionEnded(self._dialogue.turns))

    def _watch(self, event: Event) -> None:
        self._loop.watch(event)
        if isinstance(event, TurnEnded | SpeechIgnored):
            self._turn_over.set()

    def _mute(self, muted: bool) -> None:
        self._loop.hear.open = not muted
        self._dialogue.mute(muted)


@asynccontextmanager
async def open_assistant(
    home: Home, settings: Settings, plan: SessionPlan, bus: EventBus, vault: Vault
) -> AsyncIterator[Assistant]:
    """Open an assistant and start listening. Leaving the block closes it and ends its processes.

    Args:
        vault: the home's vault; it is closed together with the assistant.

    Raises:
        AssistantError: a model, a device or the home's data is missing or can't be used.
    """
    bus.emit(PhaseChanged(Phase.STARTING))
    home.create()
    async with AsyncExitStack() as stack:
        stack.callback(vault.close)
        store_location(home, settings)  # fails early if the address can't be used
        recorder = Recorder(bus)
        stack.push_async_callback(recorder.stop)
        recordings = FileMicrophone(plan.recordings) if plan.recordings else None
        loops: list[VoiceLoop] = []  # contains the voice loop once it exists
        sound = await open_audio(settings, plan, bus, recordings, partial(_on_sound, loops))
        hears = sound.microphone is not None
        selection = await asyncio.to_thread(select_models, settings)
        detectors = asyncio.create_task(_detectors(hears, selection, settings))
        stack.callback(detectors.cancel)
        models = await load_models(selection, home, settings, bus, hears=hears, speaks=sound.speaks)
        stack.push_async_callback(models.llm.close)
        memory = await open_session_memory(home, settings, bus, vault.key, stack)
        window = await open_short_term_memory(memory, models.llm, settings, bus)
        reranker = await asyncio.to_thread(find, build_reranker, selection, settings)
        recaller = _recaller(memory, window, recorder, Reranking(reranker), stack)
        dialogue = Dialogue(settings, bus, models.llm, window, LatencyLog(home.ledger))
        ringer, remark = Ringing(dialogue, speaks=sound.speaks), partial(_remark, loops)
        state = open_state(memory, settings, bus, ringer, lambda: dialogue.off_record, stack)
        common = settings, bus, dialogue, window
        built = await build_skills(memory, *common, models.llm, remark, state)
        skills, forgetting, statements = built
        reader = await asyncio.to_thread(find, build_slot_reader, selection, settings)
        listening = (*common, state, reader, statements, remark, stack)
        skills.append(await open_activities(home, *listening))
        control = VoiceControl(speed=settings.tts.speed)
        named = model_in_use(selection, settings, home, models.llm)
        tools = open_tools(memory, settings, models.llm, dialogue, remark, stack)
        skills += await skills_about_itself(skills, state, control, named, settings, bus, tools)
        classifier = await asyncio.to_thread(find, build_intent_classifier, selection, settings)
        speech, heard = Speech(classifier, control, ringer, tools.find), await detectors
        loops.append(VoiceLoop(settings, dialogue, models, sound, heard, recaller, skills, speech))
        assistant = Assistant(bus, dialogue, loops[0], recordings, recorder, settings.audio)
        stack.push_async_callback(assistant.close)
        await assistant.start()
        await start_state(state, home, memory, stack)
        tools.start()
        if memory is not None and forgetting is not None:
            speed = await asyncio.to_thread(open_benchmark, home, settings)
            jobs = JobResources(settings, memory.transcript, memory.session_user, models.llm, speed)
            idle = start_idle_jobs(jobs, bus, stack, window.summarized, dialogue.cache.warmed)
            handlers = {**state.handlers, IDLE_ACT: idle}
            start_session_memory(memory, home, window, dialogue, forgetting, handlers, bus, stack)
        await _record(recorder, plan)
        yield assistant


async def _record(recorder: Recorder, plan: SessionPlan) -> None:
    if plan.record is not None:
        await recorder.start(plan.record if plan.record.name else None)


async def _detectors(
    hears: bool, selection: ModelSelection, settings: Settings
) -> tuple[VoiceDetector, EndOfTurn]:
    voice, sound = await asyncio.to_thread(load_detectors if hears else no_detectors)
    words = None
    if hears:
        words = await asyncio.to_thread(find, build_turn_judge, selection, settings)
    return voice, EndOfTurn(sound, words, read_weights(), settings.turn.patience)


def _recaller(
    memory: MemoryService | None,
    window: ShortTermMemory,
    recorder: Recorder,
    reranking: Reranking,
    stack: AsyncExitStack,
) -> Recaller | None:
    """Create the object that recalls memories for a turn, and tell the recorder where to store
    recordings."""
    if memory is None:
        return None
    recorder.keep_in(memory.transcript.recordings, lambda: window.conversation.id)
    recall = memory.turn_recall(window.shown, lambda: window.conversation.exchanges, reranking)
    if recall is not None:
        stack.callback(recall.close)
        stack.callback(asyncio.create_task(recall.load()).cancel)
    return recall


def _remark(loops: list[VoiceLoop], remark: Remark) -> None:
    for loop in loops:
        loop.remark(remark)


def _on_sound(loops: list[VoiceLoop], works: bool) -> None:
    for loop in loops:
        loop.sound(works=works)
