"""Compares the speech recogniser as tuned here with the same model as pipecat runs it."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from assistant.voice.audio.files import read_recording
from models.interfaces import STT_SAMPLE_RATE, Samples
from models.stt.whisper import FasterWhisper
from scripts.common.rows import read_rows
from scripts.common.statistics import summary
from scripts.common.word_errors import TAGS, edit_distance, normalised

STOCK_NO_SPEECH = 0.4
"""pipecat's WhisperSTTService drops segments with at least this probability of silence."""
LONGEST_S = 30

Clips = Sequence[tuple[Samples, str]]


@dataclass(slots=True)
class Tally:
    errors: int = 0
    words: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def add(self, reference: list[str], heard: list[str], started: float) -> None:
        self.milliseconds.append((time.perf_counter() - started) * 1000)
        self.errors += edit_distance(reference, heard)
        self.words += len(reference)

    def report(self) -> dict[str, float]:
        times = summary(self.milliseconds, (50, 95), 1)
        wer = round(100 * self.errors / self.words, 2)
        return {"wer": wer, "p50_ms": times["p50"], "p95_ms": times["p95"]}


def clips(folder: Path) -> Iterator[tuple[Samples, str]]:
    """Recordings with their texts. Raises AssistantError: a recording can't be read."""
    for row in read_rows(folder / "manifest.jsonl", "file"):
        if row.get("text"):
            samples = read_recording(folder / row["file"])
            yield samples[: LONGEST_S * STT_SAMPLE_RATE], TAGS.sub(" ", row["text"])


def stock(model: WhisperModel) -> Callable[[Samples], str]:
    """Makes a function that transcribes a segment as pipecat's WhisperSTTService does."""

    def transcribe(audio: Samples) -> str:
        segments, _ = model.transcribe(audio.astype(np.float32) / 32768.0, language="en")
        return " ".join(s.text for s in segments if s.no_speech_prob < STOCK_NO_SPEECH)

    return transcribe


def compared(folder: Path, audio: Clips, threads: int) -> dict[str, object]:
    """Transcribe each clip both ways in turn, so that other load affects both equally."""
    ours = FasterWhisper(folder, threads=threads)
    ours.load()
    theirs = stock(
        WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
    )
    ways: dict[str, Callable[[Samples], str]] = {
        "ours": lambda samples: ours.transcribe(samples).text,
        "stock": theirs,
    }
    tallies = {name: Tally() for name in ways}
    for samples, text in audio:
        for name, way in ways.items():
            started = time.perf_counter()
            heard = way(samples)
            reference = normalised(text, spelled=not text.isupper())
            tallies[name].add(reference, normalised(heard), started)
    return {"model": folder.name, "threads": threads} | {
        name: tally.report() for name, tally in tallies.items()
    }
