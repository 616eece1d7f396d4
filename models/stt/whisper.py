"""Speech recognition by Whisper on CTranslate2, int8 on the CPU, tuned for short spoken turns.

Whisper usually encodes a window of 30 s, but a spoken turn fills only about three. The encoder
takes less time for a shorter window, so here the window is only as long as necessary. Decoding is
greedy and, for short turns, without timestamps. Two measures make that safe:

- The *features* are padded with zeros, never cut to the length of the audio. A decoder that doesn't
  see the silence after the words repeats them endlessly.
- If a result seems to run on, or is uncertain, the audio is decoded again with a beam. This costs
  little, because the audio is already encoded. If the result still runs on or is a guess, the audio
  is decoded by faster-whisper itself, with its 30 s window and its beam, at a temperature of 0 and,
  if that fails, of 0.4.
"""

import logging
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing, SettingsError
from models.interfaces import STT_SAMPLE_RATE, Samples, Transcription

if TYPE_CHECKING:
    from ctranslate2 import StorageView
    from faster_whisper import WhisperModel

FULL_FRAMES = 3000
"""Number of frames in the window that Whisper was trained on, which is 30 s long."""
SAMPLES_PER_FRAME = 160
AFTER_SPEECH_FRAMES = 500
"""Minimum number of frames of silence in the window after the audio."""
SHORTEST_SAMPLES = 400
"""Number of samples in one analysis window of the spectrogram. Shorter audio is padded with
silence."""

COMPRESSION_LIMIT = 2.4
"""Compression ratio by zlib above which a text is taken to repeat itself. This is faster-whisper's
own limit."""
DOUBT_LIMIT = -1.0
"""Mean log probability below which a text is taken for a guess. This is faster-whisper's own
limit."""
SILENCE_LIMIT = 0.6
"""Probability of silence above which a guess isn't decoded a second time. This is faster-whisper's
own limit."""
UNSURE_LIMIT = -0.5
"""Mean log probability below which audio is decoded again with a beam, which takes 30–60 ms. This
applies to a third of our test recordings, and lowers the word error rate of tiny.en by one
point."""
SECOND_TRY_BEAM = 5
LONG_S = 8.0
"""Seconds above which audio is decoded with timestamps. Without timestamps, the decoder may stop at
a pause. With them, it reports how far it got, and the audio after that is decoded separately."""
LEAST_REST_S = 1.5
"""Minimum length, in seconds, at which the rest of the audio is decoded. A shorter rest is usually
silence after the words."""
TIMESTAMP_S = 0.02
GRACE_S = 4
"""Number of seconds of an utterance for which no tokens are required. Each further second
requires at least one. If the text has fewer tokens, the decoder has stopped at a pause."""

LAST_TRY_TEMPERATURES = (0.0, 0.4)
SENTENCE_WORDS = 4
"""Minimum number of words of a suspicious repetition. People do repeat shorter phrases ("come on,
come on")."""

AUTO = "auto"
REQUIRED_FILES = ("model.bin", "config.json", "tokenizer.json")


class FasterWhisper:
    """A `SpeechToText` that runs a Whisper model in CTranslate2's format.

    Args:
        folder: holds model.bin, config.json, tokenizer.json and the vocabulary.
        threads: number of CPU threads per transcription.
        language: ISO 639-1 code, or `auto` to detect the language of every utterance.
    """

    def __init__(self, folder: Path, *, threads: int, language: str = "en") -> None:
        self.name = folder.name
        self._folder = folder
        self._threads = threads
        self._language = language
        self._engine: _Engine | None = None

    def load(self) -> None:
        """Load the model and transcribe some silence, so that the first turn is fast.

        Raises:
            ModelMissing: a file in the folder is missing.
            ModelCorrupt: a file in the folder can't be read.
            SettingsError: the model doesn't know the language.
        """
        if self._engine is not None:
            return
        engine = _Engine(_open(self._folder, self._threads), self._language, self._folder.name)
        engine.transcribe(np.zeros(STT_SAMPLE_RATE, np.int16), second_try=False)
        self._engine = engine

    def transcribe(self, audio: Samples, *, draft: bool = False) -> Transcription:
        """Transcribe 16 kHz mono audio of at most 30 s. Empty audio gives empty text.

        Args:
            draft: whether to return an uncertain result instead of decoding again.

        Raises:
            ModelFailed: the model is not loaded, or the engine failed.
            ValueError: the audio is longer than 30 s.
        """
        if self._engine is None:
            raise ModelFailed(f"The speech recogniser {self.name} was used before it was loaded.")
        if len(audio) > FULL_FRAMES * SAMPLES_PER_FRAME:
            raise ValueError("at most 30 s of audio in one call")
        if not len(audio):
            return Transcription("", no_speech=1.0)
        try:
            return self._engine.transcribe(audio, second_try=not draft)
        except RuntimeError as error:
            raise ModelFailed(f"The speech recogniser {self.name} failed: {error}.") from error


def _open(folder: Path, threads: int) -> "WhisperModel":
    from faster_whisper import WhisperModel  # not imported by a session in which nobody speaks

    # Checked here because faster-whisper would fetch a missing tokenizer from the network.
    absent = [name for name in REQUIRED_FILES if not (folder / name).is_file()]
    if absent:
        raise ModelMissing(
            f"The speech model {folder.name} is incomplete: {folder / absent[0]} is missing.",
            mend=f"assistant models pull {folder.name}",
        )
    logging.getLogger("faster_whisper").setLevel(logging.WARNING)
    try:
        return WhisperModel(
            str(folder),
            device="cpu",
            compute_type="int8",
            cpu_threads=threads,
            local_files_only=True,
        )
    except Exception as error:  # ctranslate2 and tokenizers raise many types, even Exception
        raise ModelCorrupt(
            f"The speech model in {folder} can't be read: {error}.",
            mend=f"assistant models pull {folder.name}",
        ) from error


@dataclass(frozen=True, slots=True)
class _Length:
    """How many tokens the transcript of a segment of audio can have.

    In English, no correct transcript of our test recordings has more than 6.1 tokens per second,
    not even where words are spelled out letter by letter. Other languages are split into more and
    smaller tokens.

    Attributes:
        least: minimum number; a transcript with fewer tokens ended early.
        likely: number above which a transcript is doubtful.
        most: number at which the decoder is stopped.
    """

    least: int
    likely: int
    most: int

    @classmethod
    def of(cls, seconds: float, language: str) -> "_Length":
        rate = 1.0 if language == "en" else 2.0
        return cls(
            int(seconds) - GRACE_S, int(6.5 * rate * seconds) + 2, int(8 * rate * seconds) + 8
        )


@dataclass(frozen=True, slots=True)
class _Decoded:
    text: str
    tokens: int
    log_probability: float
    no_speech: float
    until_s: float | None = None
    """Seconds of the audio that the text covers; None if the decoder didn't report this."""

    def is_doubtful(self, length: _Length) -> bool:
        """Return whether the text runs on, ends early, or is a guess although there seems to be
        speech."""
        if not length.least <= self.tokens <= length.likely:
            return True
        if compression_ratio(self.text) > COMPRESSION_LIMIT:
            return True
        if repetition_count(self.text) > 2 or repeats_itself(self.text):
            return True
        return self.log_probability < DOUBT_LIMIT and self.no_speech <= SILENCE_LIMIT

    def is_unsure(self, length: _Length) -> bool:
        """Return whether the text is doubtful, or uncertain enough for a second decoding with a
        beam."""
        if self.is_doubtful(length) or repetition_count(self.text) > 1:
            return True
        return self.log_probability < UNSURE_LIMIT and self.no_speech <= SILENCE_LIMIT


class _Engine:
    """The loaded model, and values that are computed from it once. Thread-safe, because its state
    never changes."""

    def __init__(self, model: "WhisperModel", language: str, name: str) -> None:
        from faster_whisper.tokenizer import Tokenizer
        from faster_whisper.transcribe import get_suppressed_tokens

        if language != AUTO and language not in model.supported_languages:
            raise SettingsError(
                f"The speech model {name} doesn't understand the language `{language}`.",
                mend="Set persona.language to en, or stt.model to a multilingual model.",
            )
        self._model = model
        self._fixed = None if language == AUTO and model.model.is_multilingual else language
        if self._fixed == AUTO:
            self._fixed = "en"
        self._tokenizer = Tokenizer(
            model.hf_tokenizer,
            model.model.is_multilingual,
            task="transcribe",
            language=self._fixed or "en",
        )
        self._suppressed = list(get_suppressed_tokens(self._tokenizer, [-1]))
        silence = np.zeros((model.model.n_mels, 100), np.float32)
        width = model.encode(silence).shape[-1]  # 384 in tiny, 512 in base
        self._least_frames = 1000 if width <= 384 else 1200

    def transcribe(self, audio: Samples, *, second_try: bool = True) -> Transcription:
        seconds = len(audio) / STT_SAMPLE_RATE
        encoded = self._encode(audio)
        language = self._fixed or self._detect(encoded)
        length = _Length.of(seconds, language)
        if seconds > LONG_S:
            decoded = self._in_parts(audio, encoded, language)
        else:
            decoded = self._decode(encoded, language, length)
            if second_try and decoded.is_unsure(length):
                decoded = self._decode(encoded, language, length, beam=SECOND_TRY_BEAM)
        if second_try and decoded.is_doubtful(length):
            return self._decode_with_defaults(audio, language, length, decoded)
        return Transcription(decoded.text, decoded.no_speech, decoded.log_probability)

    def _in_parts(self, audio: Samples, encoded: "StorageView", language: str) -> _Decoded:
        """Decode the audio in parts.

        Each part begins after the last word of the previous one. This ends when the rest is too
        short, or is probably silence.
        """
        parts: list[_Decoded] = []
        while True:
            seconds = len(audio) / STT_SAMPLE_RATE
            part = self._decode(encoded, language, _Length.of(seconds, language), timed=True)
            if parts and (part.no_speech > SILENCE_LIMIT or part.log_probability < DOUBT_LIMIT):
                break
            parts.append(part)
            until_s = seconds if part.until_s is None else part.until_s
            if until_s < LEAST_REST_S or seconds - until_s < LEAST_REST_S:
                break
            audio = audio[int(until_s * STT_SAMPLE_RATE) :]
            encoded = self._encode(audio)
        return _joined(parts)

    def _encode(self, audio: Samples) -> "StorageView":
        """Encode the audio in the shortest window that is safe for decoding."""
        waveform = audio.astype(np.float32) / 32768.0
        if len(waveform) < SHORTEST_SAMPLES:
            waveform = np.pad(waveform, (0, SHORTEST_SAMPLES - len(waveform)))
        # A log-mel spectrogram, shape (80 bands, frames of 10 ms).
        features = self._model.feature_extractor(waveform)[:, :-1][:, :FULL_FRAMES]
        bands, frames = features.shape
        wanted = max(self._least_frames, -(-(frames + AFTER_SPEECH_FRAMES) // 100) * 100)
        padded = np.zeros((bands, min(wanted, FULL_FRAMES)), np.float32)
        padded[:, :frames] = features
        return self._model.encode(padded)

    def _detect(self, encoded: "StorageView") -> str:
        """Return the code of the most probable language, such as `de`."""
        token, _ = self._model.model.detect_language(encoded)[0][0]
        return str(token).strip("<|>")

    def _decode(
        self,
        encoded: "StorageView",
        language: str,
        length: _Length,
        *,
        beam: int = 1,
        timed: bool = False,
    ) -> _Decoded:
        prompt = self._prompt(language, timed=timed)
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=beam,
            max_length=min(len(prompt) + length.most, self._model.max_length),
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=True,
            suppress_tokens=self._suppressed,
        )[0]
        tokens = result.sequences_ids[0]
        text = self._tokenizer.decode(tokens).strip()
        # The score is the mean over the text's tokens. Whisper's thresholds are meant for the mean
        # over these tokens and the end token.
        mean = result.scores[0] * len(tokens) / (len(tokens) + 1)
        marks = [token for token in tokens if token >= self._tokenizer.timestamp_begin]
        ended = bool(marks) and tokens[-1] == marks[-1] and len(marks) > 1
        until_s = (marks[-1] - self._tokenizer.timestamp_begin) * TIMESTAMP_S if ended else None
        return _Decoded(text, len(tokens) - len(marks), mean, result.no_speech_prob, until_s)

    def _prompt(self, language: str, *, timed: bool) -> list[int]:
        tokenizer = self._tokenizer
        prompt = [tokenizer.sot]
        if self._model.model.is_multilingual:
            code = self._model.hf_tokenizer.token_to_id(f"<|{language}|>")
            prompt += [code, tokenizer.transcribe]
        return prompt if timed else [*prompt, tokenizer.no_timestamps]

    def _decode_with_defaults(
        self, audio: Samples, language: str, length: _Length, before: _Decoded
    ) -> Transcription:
        """Decode again with faster-whisper's own window and beam, and with low temperatures.

        Higher temperatures cost seconds and seldom help. faster-whisper drops segments that it
        considers silent. If it drops all of them, the probabilities in the result are those of the
        previous result, `before`.
        """
        waveform = audio.astype(np.float32) / 32768.0
        found, _ = self._model.transcribe(
            waveform,
            language=language,
            max_new_tokens=length.most,
            condition_on_previous_text=False,
            temperature=LAST_TRY_TEMPERATURES,
        )
        segments = list(found)
        text = " ".join(segment.text.strip() for segment in segments).strip()
        return Transcription(
            text,
            no_speech=max((s.no_speech_prob for s in segments), default=before.no_speech),
            log_probability=min((s.avg_logprob for s in segments), default=before.log_probability),
        )


def _joined(parts: list[_Decoded]) -> _Decoded:
    """Join the parts of one segment of audio.

    The log probability is averaged over the tokens of all parts. The probability of silence is that
    of the first part.
    """
    tokens = sum(part.tokens for part in parts)
    doubt = sum(part.log_probability * (part.tokens + 1) for part in parts) / (tokens + len(parts))
    text = " ".join(part.text for part in parts if part.text)
    return _Decoded(text, tokens, doubt, parts[0].no_speech)


def repetition_count(text: str) -> int:
    """Return how often the text repeats the same words, e.g. 3 for "Repeat. Repeat. Repeat."

    The result is usually 1. People do say "no, no, no", so repetition is a reason to decode again,
    not to reject the text.
    """
    words = re.findall(r"\w+", text.lower())
    count = len(words)
    return max(
        (
            count // unit
            for unit in range(1, count // 2 + 1)
            if count % unit == 0 and words == words[:unit] * (count // unit)
        ),
        default=1,
    )


def repeats_itself(text: str) -> bool:
    """Return whether the text is one sentence repeated, as when the decoder runs on.

    The last repetition may be broken off.
    """
    words = re.findall(r"\w+", text.lower())
    return any(
        words[:unit] == words[unit : 2 * unit]
        and words[2 * unit :] == words[: len(words) - 2 * unit]
        for unit in range(max(SENTENCE_WORDS, -(-len(words) // 3)), len(words) // 2 + 1)
    )


def compression_ratio(text: str) -> float:
    """Return the number of bytes of the text, divided by the number of its compressed bytes.

    The ratio of a text with only a few words is below 1.
    """
    raw = text.encode()
    return len(raw) / len(zlib.compress(raw))
