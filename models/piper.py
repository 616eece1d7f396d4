"""Text-to-speech: a Piper voice, in process.

The time to the first sample is what counts: the silence that Piper puts before the first word is
cut, and long text comes sentence by sentence.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from piper import AudioChunk, PiperConfig, PiperVoice, SynthesisConfig
from piper.patch_voice_with_alignment import add_alignment_output

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.alignment import PhonemeGroup, WordTime, align_words
from models.interfaces import Samples

LEAD_S = 0.015
"""Kept before the first sound, so that no onset is clipped. Piper puts 40–70 ms there."""
PAUSES_S = {".": 0.22, "!": 0.22, "?": 0.22, ",": 0.12, ";": 0.16, ":": 0.16}
"""At most so much silence is kept after the last sound, by the mark on which the text ends."""
RUN_ON_S = 0.05
"""The same where the text goes on without a mark."""
_FRAME_S = 0.005
_STRESS = frozenset("ˈˌːˑ")
_PUNCTUATION = frozenset('.,;:!?¡¿—…"«»()')
WARM_UP = "Hello."


@dataclass(frozen=True, slots=True)
class Spoken:
    """A sentence as sound, and when each of its words is heard."""

    samples: Samples
    groups: list[PhonemeGroup]


class Piper:
    """A Piper voice: `onnx_path`, and its description at the same path with `.json` added.

    Args:
        speed: 1.0 is the voice's own pace, 2.0 twice as fast.
        threads: one is the fastest whenever another core is busy, and while the assistant speaks
            the language model is.
    """

    def __init__(self, onnx_path: Path, speed: float = 1.0, *, threads: int = 1) -> None:
        self.name = onnx_path.stem
        self._path = onnx_path
        self._threads = threads
        self._speed = speed
        self._voice: PiperVoice | None = None

    @property
    def sample_rate(self) -> int:
        return int(self._ready().config.sample_rate)

    def load(self) -> None:
        """Read the voice and say a word to nobody, so that the first answer is quick.

        Raises:
            ModelMissing: one of the two files is absent.
            ModelCorrupt: one of them can't be read, or is no Piper voice.
        """
        if self._voice is not None:
            return
        description = Path(f"{self._path}.json")
        for file in (self._path, description):
            if not file.is_file():
                raise ModelMissing(
                    f"The voice {self.name} is not complete: {file} is missing.",
                    mend=f"assistant models pull {self._path.parent.name}",
                )
        try:
            voice = _open(self._path, description, self._threads)
            for _ in voice.synthesize(WARM_UP, SynthesisConfig(), include_alignments=True):
                pass
        except Exception as error:  # onnx, onnxruntime, json and piper raise kinds of their own
            raise ModelCorrupt(
                f"The voice {self._path} can't be read: {_first_line(error)}.",
                mend=f"assistant models pull {self._path.parent.name}",
            ) from error
        self._voice = voice

    def synthesize(self, text: str) -> Iterator[Samples]:
        """See `TextToSpeech.synthesize`: one piece a sentence. Nothing to say, no piece.

        Raises:
            ModelFailed: not loaded, or the engine gave up.
        """
        for spoken in self._sentences(text):
            yield spoken.samples

    def synthesize_timed(self, text: str) -> tuple[Samples, list[WordTime]]:
        """All of `text` as one sound, with the times of its words as the voice itself set them.

        The times are empty for a voice that doesn't tell how long its phonemes are.
        """
        pieces: list[Samples] = []
        groups: list[PhonemeGroup] = []
        offset = 0.0
        for spoken in self._sentences(text):
            pieces.append(spoken.samples)
            groups += [
                PhonemeGroup(g.sounds, g.start_s + offset, g.end_s + offset) for g in spoken.groups
            ]
            offset += len(spoken.samples) / self.sample_rate
        samples = np.concatenate(pieces) if pieces else np.empty(0, np.int16)
        return samples, align_words(text, groups)

    def _sentences(self, text: str) -> Iterator[Spoken]:
        voice = self._ready()
        config = SynthesisConfig(length_scale=voice.config.length_scale / self._speed)
        if not any(character.isalnum() for character in text):
            return
        try:
            for chunk in voice.synthesize(text, config, include_alignments=True):
                yield _trimmed(chunk)
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The voice {self.name} failed: {_first_line(error)}.") from error

    def _ready(self) -> PiperVoice:
        if self._voice is None:
            raise ModelFailed(f"The voice {self.name} was used before it was loaded.")
        return self._voice


def _open(path: Path, description: Path, threads: int) -> PiperVoice:
    config = PiperConfig.from_dict(json.loads(description.read_text(encoding="utf-8")))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        _with_durations(path), options, providers=["CPUExecutionProvider"]
    )
    return PiperVoice(config=config, session=session)


def _with_durations(path: Path) -> bytes:
    """The model with the phonemes' lengths as a second output, where they can be found in it."""
    model = onnx.load(str(path))
    try:
        add_alignment_output(model)
    except ValueError:
        return path.read_bytes()
    return bytes(model.SerializeToString())


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _trimmed(chunk: AudioChunk) -> Spoken:
    """Without Piper's leading silence and the overlong trailing one."""
    samples: Samples = chunk.audio_int16_array
    rate = chunk.sample_rate
    size = max(1, int(rate * _FRAME_S))
    count = len(samples) // size
    frames = samples[: count * size].astype(np.float32).reshape(count, size)
    level = np.sqrt(np.mean(frames * frames, axis=1)) if count else np.zeros(0, np.float32)
    loud = np.flatnonzero(level > 0.008 * float(np.abs(samples).max(initial=0)) + 1)
    if not len(loud):
        return Spoken(samples, [])
    start = max(0, int(loud[0] * size - LEAD_S * rate))
    mark = next((p for p in reversed(chunk.phonemes) if not p.isspace()), "")
    pause = PAUSES_S.get(mark, RUN_ON_S)
    end = min(len(samples), int((loud[-1] + 1) * size + pause * rate))
    return Spoken(samples[start:end], _groups(chunk, start, end))


def _groups(chunk: AudioChunk, start: int, end: int) -> list[PhonemeGroup]:
    """The chunk's phonemes between spaces, with their times in the samples `start` to `end`."""
    alignments: list[Any] = chunk.phoneme_alignments or []
    groups: list[PhonemeGroup] = []
    at, began, ended, sounds = 0, 0, 0, 0

    def close() -> None:
        if sounds:
            first, last = (min(max(x, start), end) - start for x in (began, ended))
            groups.append(PhonemeGroup(sounds, first / chunk.sample_rate, last / chunk.sample_rate))

    for item in alignments:
        until = at + int(item.num_samples)
        if item.phoneme == " " or item.phoneme in "^$":
            close()
            sounds = 0
        elif item.phoneme not in _PUNCTUATION:
            if not sounds:
                began = at
            sounds += item.phoneme not in _STRESS
            ended = until
        at = until
    close()
    return groups
