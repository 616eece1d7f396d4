"""The stock pipeline: pipecat's own services with their defaults, as its examples compose them.

Only two kinds of settings are changed: those without which the pipeline couldn't run on this
machine's models, and those that make the comparison fair (prompt, answer length, temperature, and
threads of the language model). Turn strategies, voice detection, time-outs and rates are the
defaults. Each conversation has a new pipeline. The weights are loaded once, and passed to the
services' constructors.
"""

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
from faster_whisper import WhisperModel
from openai import AsyncOpenAI
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.clocks.system_clock import SystemClock
from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMTextFrame,
    OutputAudioRawFrame,
    StartFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.piper import tts as piper_service
from pipecat.services.whisper import stt as whisper_service
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner
from piper import PiperVoice
from threadpoolctl import threadpool_limits

from assistant.voice.audio.files import FileMicrophone
from models.interfaces import STT_SAMPLE_RATE, Samples
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import (
    Models,
    Notes,
    Outcome,
    TimedLoudspeaker,
    Turn,
    answer_to,
    microphone,
    outcome,
)

ROOT = Path(__file__).resolve().parents[3]
COMPUTE_TYPE = "int8"
"""The usual setting for a CPU; the files hold 16-bit weights."""
WARM_UP = "Hello."


class RecordingInput(BaseInputTransport):
    """Feeds a recording in real time, as a sound device would."""

    def __init__(self, params: TransportParams, source: FileMicrophone) -> None:
        super().__init__(params)
        self._source = source
        self._blocks: asyncio.Queue[Samples] = asyncio.Queue()
        self._feeding: asyncio.Task[None] | None = None

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)
        self._feeding = self.create_task(self._feed())
        await self._source.open(lambda block, _captured: self._blocks.put_nowait(block))

    async def stop(self, frame: EndFrame) -> None:
        await self._silence()
        await super().stop(frame)

    async def cancel(self, frame: CancelFrame) -> None:
        await self._silence()
        await super().cancel(frame)

    async def _feed(self) -> None:
        while True:
            block = await self._blocks.get()
            await self.push_audio_frame(
                InputAudioRawFrame(
                    audio=block.tobytes(), sample_rate=STT_SAMPLE_RATE, num_channels=1
                )
            )

    async def _silence(self) -> None:
        await self._source.close()
        feeding, self._feeding = self._feeding, None
        if feeding is not None:
            await self.cancel_task(feeding)


class LoudspeakerOutput(BaseOutputTransport):
    """Plays on the same kind of loudspeaker as the assistant under test."""

    def __init__(self, params: TransportParams, loudspeaker: TimedLoudspeaker) -> None:
        super().__init__(params)
        self._loudspeaker = loudspeaker

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self._loudspeaker.open(self.sample_rate)
        await self.set_transport_ready(frame)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, InterruptionFrame):
            self._loudspeaker.flush()
        await super().process_frame(frame, direction)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        await self._loudspeaker.play(np.frombuffer(frame.audio, np.int16))
        return True

    async def cleanup(self) -> None:
        await super().cleanup()
        await self._loudspeaker.close()


class NoteTaker(BaseObserver):
    """Notes when the relevant frames were pushed.

    A new turn resets the later stages, so that the notes belong to the last turn.
    """

    STAGES = (
        (VADUserStoppedSpeakingFrame, "voice_stopped"),
        (TranscriptionFrame, "transcript"),
        (LLMContextFrame, "turn_decided"),
        (LLMTextFrame, "first_token"),
        (TTSStartedFrame, "clause_written"),
        (TTSAudioRawFrame, "clause_spoken"),
    )
    LATER = ("first_token", "clause_written", "clause_spoken")

    def __init__(self, notes: Notes, clock: SystemClock) -> None:
        super().__init__(observe_every_push=False)
        self._notes = notes
        self._clock = clock

    async def on_push_frame(self, data: FramePushed) -> None:
        frame = data.frame
        name = next((name for kind, name in self.STAGES if isinstance(frame, kind)), None)
        if name is None:
            return
        moment = time.monotonic() - (self._clock.get_time() - data.timestamp) / 1e9
        if name in self.LATER:
            self._notes.stages.setdefault(name, moment)
            return
        self._notes.stages[name] = moment
        if isinstance(frame, LLMContextFrame):
            for later in self.LATER:
                self._notes.stages.pop(later, None)
            said = [m for m in frame.context.messages if _role(m) == "user"]
            told = sum(len(turn.text.split()) for turn in self._notes.turns)
            words = " ".join(str(m["content"]) for m in said if isinstance(m, dict)).split()
            self._notes.turns.append(Turn(moment, " ".join(words[told:])))


def _role(message: object) -> str | None:
    return str(message.get("role")) if isinstance(message, dict) else None


class Stock:
    """pipecat's Whisper, OpenAI-style and Piper services."""

    name = "stock"

    def __init__(self, models: Models) -> None:
        self._models = models
        self._server: asyncio.subprocess.Process | None = None
        self._address = ""
        self._recogniser: WhisperModel | None = None
        self._voice: PiperVoice | None = None

    async def load(self) -> None:
        models = self._models
        self._server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "scripts.bench.voice.stock_server"),
            *(str(models.language_model), str(models.context_tokens), str(models.threads)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=ROOT,
        )
        assert self._server.stdout is not None
        self._address = (await self._server.stdout.readline()).decode().strip()
        if not self._address:
            raise RuntimeError("llama.cpp's server did not start")
        self._recogniser = await asyncio.to_thread(
            WhisperModel, str(models.recogniser), device="cpu", compute_type=COMPUTE_TYPE
        )
        self._voice = await asyncio.to_thread(PiperVoice.load, models.voice)
        await asyncio.to_thread(self._warm_up, self._recogniser, self._voice)
        await self._read_prompt()

    @staticmethod
    def _warm_up(recogniser: WhisperModel, voice: PiperVoice) -> None:
        segments, _ = recogniser.transcribe(np.zeros(STT_SAMPLE_RATE, np.float32), language="en")
        list(segments)
        for _ in voice.synthesize(WARM_UP):
            continue

    async def _read_prompt(self) -> None:
        """Make the server cache the system prompt, as after a first turn."""
        async with AsyncOpenAI(base_url=f"{self._address}/v1", api_key="none") as client:
            await client.chat.completions.create(
                model=self._models.language_model.stem,
                messages=[
                    {"role": "system", "content": self._models.system_prompt},
                    {"role": "user", "content": WARM_UP},
                ],
                max_tokens=1,
            )

    async def hear(self, clip: Clip) -> Outcome:
        # As many threads as in a separate program; the assistant leaves NumPy only one.
        with threadpool_limits(limits=os.cpu_count(), user_api="blas"):
            return await self._hear(clip)

    async def _hear(self, clip: Clip) -> Outcome:
        await self._read_prompt()
        notes, clock = Notes(), SystemClock()
        source, loudspeaker = microphone(clip), TimedLoudspeaker()
        worker = PipelineWorker(
            await asyncio.to_thread(self._pipeline, source, loudspeaker),
            params=PipelineParams(),
            clock=clock,
            enable_rtvi=False,
            idle_timeout_secs=None,
            observers=[NoteTaker(notes, clock)],
        )
        runner = WorkerRunner(handle_sigint=False, handle_sigterm=False)
        await runner.add_workers(worker)
        running = asyncio.create_task(runner.run())
        try:
            ended, onset = await answer_to(clip, source, loudspeaker)
        finally:
            await runner.cancel("over")
            await asyncio.wait({running}, timeout=3.0)
        return outcome(notes, ended, onset)

    def _pipeline(self, source: FileMicrophone, loudspeaker: TimedLoudspeaker) -> Pipeline:
        models = self._models
        params = TransportParams(audio_in_enabled=True, audio_out_enabled=True)
        with patch.object(whisper_service, "WhisperModel", lambda *_, **__: self._recogniser):
            stt = whisper_service.WhisperSTTService(
                device="cpu",
                compute_type=COMPUTE_TYPE,
                settings=whisper_service.WhisperSTTService.Settings(model=str(models.recogniser)),
            )
        with patch.object(PiperVoice, "load", lambda *_, **__: self._voice):
            tts = piper_service.PiperTTSService(
                download_dir=models.voice.parent,
                settings=piper_service.PiperTTSService.Settings(voice=models.voice.stem),
            )
        llm = OpenAILLMService(
            base_url=f"{self._address}/v1",
            api_key="none",
            settings=OpenAILLMService.Settings(
                model=models.language_model.stem,
                system_instruction=models.system_prompt,
                max_tokens=models.max_tokens,
                temperature=models.temperature,
            ),
        )
        context = LLMContextAggregatorPair(
            LLMContext(), user_params=LLMUserAggregatorParams(vad_analyzer=SileroVADAnalyzer())
        )
        return Pipeline(
            [
                RecordingInput(params, source),
                stt,
                context.user(),
                llm,
                tts,
                LoudspeakerOutput(params, loudspeaker),
                context.assistant(),
            ]
        )

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None and server.stdin is not None:
            server.stdin.close()
            with suppress(ProcessLookupError):
                await server.wait()
