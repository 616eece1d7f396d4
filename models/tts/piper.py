"""Speech synthesis by a Piper voice, in this process.

The time to the first sample matters most. So a sentence is synthesized piece by piece, and the
silence that Piper puts before the first word is cut.
"""

import importlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.interfaces import Samples, SpokenPiece, WordTime
from models.tts.alignment import PhonemeGroup, align_words
from models.tts.trimming import Trimmer

if TYPE_CHECKING:
    from models.tts.piper_graph import Frames, Waveform

PAUSES_S = {".": 0.22, "!": 0.22, "?": 0.22, ",": 0.12, ";": 0.16, ":": 0.16}
"""Maximum seconds of silence kept after a sentence, by the punctuation mark that ends it."""
RUN_ON_S = 0.05
"""Maximum seconds of silence kept after a sentence that ends with none of these marks."""
PEAK = 0.75
"""Peak of the warm-up sentence, as a fraction of full scale. It determines one gain for everything
that the voice says. If each clause were levelled separately, as Piper does, consecutive clauses
would differ by 4 dB."""
QUIET = 0.008
"""Level below which sound counts as silence, as a fraction of the peak."""
WARM_UP = "Hello, I am listening."
_STRESS = frozenset("ˈˌːˑ")
_PUNCTUATION = frozenset('.,;:!?¡¿—…"«»()')


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of a text: its phonemes, and the output of the voice's first half."""

    phonemes: list[str]
    frames: "Frames"


class Piper:
    """A `TextToSpeech` that runs a Piper voice.

    Args:
        onnx_path: the voice's network. Its description is a file at the same path plus `.json`.
        speed: the initial value of `TextToSpeech.speed`.
    """

    def __init__(self, onnx_path: Path, speed: float = 1.0) -> None:
        self.name = onnx_path.stem
        self._path = onnx_path
        self.speed = speed
        self._voice: _Voice | None = None

    @property
    def sample_rate(self) -> int:
        return self._ready().rate

    def load(self) -> None:
        """Load the voice and synthesize a sentence, so that the first answer is fast.

        Raises:
            ModelMissing: the network or its description is missing.
            ModelCorrupt: one of the two files can't be read, or is not a Piper voice.
        """
        if self._voice is not None:
            return
        description = Path(f"{self._path}.json")
        for file in (self._path, description):
            if not file.is_file():
                raise ModelMissing(
                    f"The voice {self.name} is incomplete: {file} is missing.",
                    mend=f"assistant models pull {self._path.parent.name}",
                )
        # A session in which nothing is spoken doesn't wait for these imports. If one fails, the
        # installation is damaged, not the voice.
        importlib.import_module("models.tts.piper_graph")
        importlib.import_module("piper")
        try:
            self._voice = _Voice(self._path, description)
        except Exception as error:  # onnx, onnxruntime, json and piper have their own exceptions
            raise ModelCorrupt(
                f"The voice {self._path} can't be read: {_first_line(error)}.",
                mend=f"assistant models pull {self._path.parent.name}",
            ) from error

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        """Speak `text`, and yield its audio piece by piece, as described in
        `TextToSpeech.synthesize`.

        Raises:
            ModelFailed: the voice is not loaded, or the engine failed.
        """
        voice = self._ready()
        if not any(character.isalnum() for character in text):
            return
        try:
            yield from voice.speak(text, self.speed)
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The voice {self.name} failed: {_first_line(error)}.") from error

    def _ready(self) -> "_Voice":
        if self._voice is None:
            raise ModelFailed(f"The voice {self.name} was used before it was loaded.")
        return self._voice


class _Voice:
    """A loaded voice."""

    def __init__(self, path: Path, description: Path) -> None:
        from piper import PiperConfig, PiperVoice

        from models.tts.piper_graph import open_network

        config = PiperConfig.from_dict(json.loads(description.read_text(encoding="utf-8")))
        self.rate = int(config.sample_rate)
        self._pace = config.length_scale
        self._network = open_network(path, config)
        # Without a session, PiperVoice only turns text into phonemes, and phonemes into ids.
        self._piper = PiperVoice(config=config, session=None)
        self._gain = 1.0
        loudest = max(int(np.abs(piece.samples).max()) for piece in self.speak(WARM_UP))
        self._gain = PEAK * 32767 / max(1, loudest)

    def speak(self, text: str, speed: float = 1.0) -> Iterator[SpokenPiece]:
        """Yield the audio of `text` piece by piece.

        All sentences are encoded first, because word times are aligned over the whole text.
        """
        pace = self._pace / speed
        sentences = [
            _Sentence(phonemes, self._network.encode(self._piper.phonemes_to_ids(phonemes), pace))
            for phonemes in self._piper.phonemize(text)
            if phonemes
        ]
        frame_s = self._network.frame_samples / self.rate
        starts = [0, *itertools.accumulate(len(sentence.frames) for sentence in sentences)]
        groups = [
            group
            for sentence, start in zip(sentences, starts, strict=False)
            for group in self._groups(sentence, start * frame_s, frame_s)
        ]
        words = align_words(text, groups)
        spoken_s = 0.0
        for number, sentence in enumerate(sentences):
            ends = starts[number + 1] * frame_s if number + 1 < len(sentences) else float("inf")
            mine = [word for word in words if word.end_s <= ends + 1e-6]
            words = words[len(mine) :]
            for piece in self._sounded(sentence, mine, starts[number] * frame_s, spoken_s):
                yield piece
                spoken_s += len(piece.samples) / self.rate

    def _sounded(
        self, sentence: _Sentence, words: list[WordTime], laid_out_s: float, spoken_s: float
    ) -> Iterator[SpokenPiece]:
        """Synthesize a sentence without the silence around it, and shift its word times to match.

        Args:
            words: the sentence's words, with times in the untrimmed audio of the text.
            laid_out_s: start of the sentence in the untrimmed audio, in seconds.
            spoken_s: duration of the trimmed audio before this sentence, in seconds.
        """
        mark = next((p for p in reversed(sentence.phonemes) if not p.isspace()), "")
        trimmer = Trimmer(self.rate, QUIET * PEAK * 32767, PAUSES_S.get(mark, RUN_ON_S))
        said_s = spoken_s
        pieces = (trimmer.feed(self._loud(wave)) for wave in self._network.decode(sentence.frames))
        for samples in pieces:
            said_s += len(samples) / self.rate
            shift = spoken_s - laid_out_s - trimmer.dropped / self.rate
            ended = [w for w in words if w.end_s + shift <= said_s] if len(samples) else []
            words = words[len(ended) :]
            if len(samples):
                yield SpokenPiece(samples, [_moved(w, shift, spoken_s, said_s) for w in ended])
        samples = trimmer.finish()
        said_s += len(samples) / self.rate
        shift = spoken_s - laid_out_s - trimmer.dropped / self.rate
        if len(samples) or words:
            yield SpokenPiece(samples, [_moved(w, shift, spoken_s, said_s) for w in words])

    def _loud(self, wave: "Waveform") -> Samples:
        samples: Samples = np.clip(wave * (self._gain * 32767), -32767, 32767).astype(np.int16)
        return samples

    def _groups(self, sentence: _Sentence, start_s: float, frame_s: float) -> list[PhonemeGroup]:
        """Return the sentence's phonemes, grouped by spaces, with their times."""
        known = self._piper.config.phoneme_id_map
        pad = len(known.get("_", []))
        ends = np.cumsum(sentence.frames.lengths) * frame_s + start_s
        groups: list[PhonemeGroup] = []
        at, until = 0, start_s
        began, ended, sounds = start_s, start_s, 0
        for phoneme in ("^", *sentence.phonemes, "$"):
            at += len(known.get(phoneme, [])) + (pad if phoneme in known and phoneme != "$" else 0)
            since, until = until, float(ends[min(at, len(ends)) - 1])
            if phoneme in (" ", "$"):
                if sounds:
                    groups.append(PhonemeGroup(sounds, began, ended))
                sounds = 0
            elif phoneme not in _PUNCTUATION and phoneme != "^":
                began = began if sounds else since
                sounds += phoneme not in _STRESS
                ended = until
        return groups


def _moved(word: WordTime, shift_s: float, least_s: float, most_s: float) -> WordTime:
    start_s, end_s = (min(max(at + shift_s, least_s), most_s) for at in (word.start_s, word.end_s))
    return word._replace(start_s=start_s, end_s=end_s)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
