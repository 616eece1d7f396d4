"""Measures with a speech recogniser how far a recording is from a text."""

import re
from pathlib import Path

import jiwer
import numpy as np
from num2words import num2words

from assistant.voice.audio.files import read_recording
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText

LONGEST_S = (20, 10)
"""Lengths of the stretches to listen to. The recogniser sometimes drops a stretch's last words.
Words that the recording really lacks are missing at any length."""
PADDING = np.zeros(STT_SAMPLE_RATE // 2, np.int16)
"""Silence around each stretch of speech. Without it, the recogniser loses words at the edges."""


def plain(text: str) -> str:
    """The text as two transcripts are compared: lower case, no punctuation, digits as words."""
    text = re.sub(r"\d+", lambda digits: f" {num2words(int(digits[0]))} ", text.lower())
    return " ".join(re.sub(r"[^\w\s]", " ", text.replace("'", "").replace("’", "")).split())


class Listener:
    """Transcribes with a real recogniser, in stretches between pauses."""

    def __init__(self, stt: SpeechToText) -> None:
        self._stt = stt

    def transcribe(self, recording: Path | Samples, longest_s: int = LONGEST_S[0]) -> str:
        samples = read_recording(recording) if isinstance(recording, Path) else recording
        return " ".join(self._heard(part) for part in _cut(samples, longest_s))

    def _heard(self, part: Samples) -> str:
        return self._stt.transcribe(np.concatenate([PADDING, part, PADDING])).text.strip()

    def word_error(self, recording: Path | Samples, text: str) -> float:
        """The word error rate of the recording against `text`."""
        heard = (plain(self.transcribe(recording, longest_s)) for longest_s in LONGEST_S)
        return min(float(jiwer.wer(plain(text), each)) for each in heard)


def _cut(samples: Samples, longest_s: int) -> list[Samples]:
    """Stretches of speech, cut at silences of 0.1 s or more, joined up to about `longest_s`."""
    block = STT_SAMPLE_RATE // 100
    count = len(samples) // block
    level = np.abs(samples[: count * block].astype(np.float32)).reshape(count, block).mean(axis=1)
    loud = np.flatnonzero(level > 40)
    if not len(loud):
        return []
    parts: list[Samples] = []
    start = last = int(loud[0])
    for frame in map(int, loud[1:]):
        if frame - last > 10 and (frame - start) / 100 > longest_s / 2:
            parts.append(samples[max(0, start - 20) * block : (last + 20) * block])
            start = frame
        last = frame
    parts.append(samples[max(0, start - 20) * block : (last + 20) * block])
    return parts
