"""Listens to recordings as the assistant does, and notes what it knows about each pause, and when.

The detectors, the recogniser and both judges are the real ones. Sound isn't played in real time:
each judge is asked when the assistant would ask it, and the time that it takes is added.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from assistant.settings import Turn
from assistant.voice.speech.hearing import JUDGED_WINDOWS, PREROLL_WINDOWS
from assistant.voice.turns.end_of_turn import (
    LEAST_SILENCE_S,
    RECHECK_S,
    UNJUDGED_WORDS,
    Evidence,
    logit,
)
from assistant.voice.turns.endpointing import WINDOW, WINDOW_S, Endpointer, SpeechChange
from assistant.voice.turns.pipecat_models import SileroVoice, SoundJudge
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText, TurnJudge
from scripts.bench.voice.labels import Clip

LEAD_IN_S, LISTEN_ON_S = 1.0, 3.4
"""Seconds of room noise before and after each recording."""
ROOM = 20
"""Amplitude (standard deviation) of the noise of a quiet room."""
Result = TypeVar("Result")
ANSWER_S = 0.4
"""Seconds from the words to the first sound of an answer, about as with the profile `tiny`."""
STOCK_S = 0.2
"""Seconds of silence after which pipecat asks Smart Turn."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A silence in or after a recording.

    Attributes:
        began_s: its beginning, in seconds from the recording's first sample.
        lasts_s: its length in seconds; the last silence lasts until the listening ends.
        last: whether no more speech follows.
        words: the transcript of the speech before it.
        transcribed_s, judged_s: the seconds of silence until the words are known, and until they
            are judged.
        words_odds: the log-odds that the words are complete.
        sounds: for each judgement of the sound, the seconds of silence until it is known, and the
            log-odds that the speaker sounds finished.
        stock: the same for the one judgement that pipecat asks for.
    """

    began_s: float
    lasts_s: float
    last: bool
    words: str
    transcribed_s: float
    judged_s: float
    words_odds: float
    sounds: tuple[tuple[float, float], ...]
    stock: tuple[float, float]

    def evidence(
        self, silence_s: float, answer_s: float = ANSWER_S, *, rechecked: bool = True
    ) -> Evidence:
        """What is known after some silence.

        Args:
            answer_s: the seconds that an answer takes from the words to its first sound.
            rechecked: whether the sound was judged once more.
        """
        sounds = self.sounds if rechecked else self.sounds[:1]
        known = [odds for since_s, odds in sounds if since_s <= silence_s]
        words = self.words_odds if silence_s >= self.judged_s else None
        ready = silence_s >= self.transcribed_s + answer_s
        return Evidence(words, known[-1] if known else None, ready=ready)


class Silence(NamedTuple):
    """The windows of a silence.

    Attributes:
        speech: the window in which the speech before it began.
        began: its own first window.
        windows: the number of its windows.
        last: whether no more speech follows.
    """

    speech: int
    began: int
    windows: int
    last: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """A recording with its pauses. Pauses too short to end a turn are left out."""

    clip: Clip
    pauses: tuple[Pause, ...]


class Listener:
    """Listens to recordings with models that are loaded.

    Args:
        words: judges the words; None if there is no judge for the language.
    """

    def __init__(self, stt: SpeechToText, words: TurnJudge | None, sound: SoundJudge) -> None:
        self._stt, self._words, self._sound = stt, words, sound
        self._settings = Turn()

    def listen(self, clip: Clip, question: str = "") -> Heard:
        """Listen to a recording. `question` is the assistant's question that it may answer."""
        sound = in_a_room(clip.samples)
        pauses = [
            self._pause(sound, each, question)
            for each in silences(sound, self._settings)
            if each.windows * WINDOW_S >= LEAST_SILENCE_S
        ]
        return Heard(clip, tuple(pauses))

    def _pause(self, sound: Samples, silence: Silence, question: str) -> Pause:
        hint = max(1, round(self._settings.hint_s / WINDOW_S))
        said = sound[silence.speech * WINDOW : (silence.began + hint) * WINDOW]
        transcribe_s, found = timed(lambda: self._stt.transcribe(said))
        words = found.text.strip()
        transcribed_s = hint * WINDOW_S + transcribe_s
        judge_s, odds = timed(
            lambda: self._words.complete(words, question) if self._words else UNJUDGED_WORDS
        )
        asked = [each for each in (hint, round(RECHECK_S / WINDOW_S)) if each <= silence.windows]
        return Pause(
            began_s=silence.began * WINDOW_S - LEAD_IN_S,
            lasts_s=silence.windows * WINDOW_S,
            last=silence.last,
            words=words,
            transcribed_s=transcribed_s,
            judged_s=transcribed_s + judge_s,
            words_odds=odds,
            sounds=tuple(self._judged(sound, silence, each) for each in asked),
            stock=self._judged(sound, silence, round(STOCK_S / WINDOW_S)),
        )

    def _judged(self, sound: Samples, silence: Silence, windows: int) -> tuple[float, float]:
        """Judge the sound after some windows of silence. Return the seconds of silence after which
        the result is there, and the log-odds that the speaker sounds finished."""
        until = silence.began + windows
        tail = sound[max(0, until - JUDGED_WINDOWS) * WINDOW : until * WINDOW]
        took_s, probability = timed(lambda: self._sound.probability(tail))
        return windows * WINDOW_S + took_s, logit(probability)


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    """The seconds that a call takes, and its result."""
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def in_a_room(samples: Samples) -> Samples:
    """The recording between stretches of room noise, as whole windows."""
    chance = np.random.default_rng(len(samples))
    lead, after = (
        chance.normal(0, ROOM, int(seconds * STT_SAMPLE_RATE)).astype(np.int16)
        for seconds in (LEAD_IN_S, LISTEN_ON_S)
    )
    whole = np.concatenate([lead, samples, after])
    return whole[: len(whole) // WINDOW * WINDOW]


def silences(sound: Samples, settings: Turn) -> Iterator[Silence]:
    """The silences after speech."""
    voice, endpointer = SileroVoice(), Endpointer(settings)
    preroll = PREROLL_WINDOWS + round(settings.start_s / WINDOW_S)
    hint = max(1, round(settings.hint_s / WINDOW_S))
    speech = began = 0
    count = len(sound) // WINDOW
    for number in range(count):
        window = sound[number * WINDOW : (number + 1) * WINDOW]
        change = endpointer.feed(voice.probability(window))
        if change is SpeechChange.STARTED:
            speech = max(0, number - preroll)
        elif change is SpeechChange.PAUSED:
            began = number - hint + 1
        elif change is SpeechChange.RESUMED:
            yield Silence(speech, began, number - began, last=False)
    if began and endpointer.silence_s:
        yield Silence(speech, began, count - began, last=True)
