"""Speaks turns in different voices and rooms, and notes what the recogniser hears at each pause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.compose.engines import build_recogniser, build_voice
from assistant.settings import Settings
from assistant.voice.audio.resampling import Resampler
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText
from models.selection import select_models
from scripts.bench.turns.spoken import pause, spoken_parts
from scripts.common.rows import Keep
from scripts.common.spoken_turns import TRAINING, read_turns

SPEEDS = 0.88, 1.16
"""Range of the factor by which pitch and pace are multiplied."""
LOUDNESS = 0.3, 1.0
NOISE = 10.0, 600.0
"""Range of the amplitude (standard deviation) of the noise of the room."""
LEAD_IN_S = 0.35
"""Seconds of sound before the speech."""
SILENCE_S = 0.09, 0.16
"""Range of the seconds of silence after which the recogniser begins."""
LOUDEST = 32_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Which models to use, where to write, and how many turns to speak."""

    profile: str
    out: Path
    limit: int | None
    seed: int


def overheard(plan: Plan) -> dict[str, int]:
    """Write a line for each pause and each end of a turn, as soon as it has been heard.

    Raises:
        AssistantError: a model is missing, or the turns can't be read.
    """
    settings = Settings.model_validate({"general": {"profile": plan.profile}})
    selection = select_models(settings)
    stt, voice = build_recogniser(selection, settings), build_voice(selection, settings)
    stt.load()
    voice.load()
    keep, left_out, lines = Keep(plan.out), 0, 0
    for number, turn in enumerate(read_turns(TRAINING, plan.limit)):
        chance = np.random.default_rng((plan.seed, number))
        parts = spoken_parts(turn, voice)
        left_out += parts is None
        for stop, heard in enumerate(_heard(parts or (), stt, chance), 1):
            complete = stop == len(turn.parts)
            keep({"by": turn.by, "question": turn.question, "heard": heard, "complete": complete})
            lines += 1
    return {"lines": lines, "turns_left_out": left_out}


def _heard(
    parts: Sequence[Samples], stt: SpeechToText, chance: np.random.Generator
) -> Iterator[str]:
    """What is heard of a turn up to each of its pauses, and up to its end."""
    rate = int(STT_SAMPLE_RATE * chance.uniform(*SPEEDS))
    loudness, noise = chance.uniform(*LOUDNESS), np.exp(chance.uniform(*np.log(NOISE)))
    sound = np.zeros(int(LEAD_IN_S * STT_SAMPLE_RATE))
    for part in parts:
        sound = np.concatenate([sound, loudness * Resampler(rate, STT_SAMPLE_RATE).process(part)])
        silence = np.zeros(int(chance.uniform(*SILENCE_S) * STT_SAMPLE_RATE))
        room = np.concatenate([sound, silence])
        room += chance.normal(0, noise, len(room))
        yield stt.transcribe(room.clip(-LOUDEST, LOUDEST).astype(np.int16)).text.strip()
        sound = np.concatenate([sound, np.zeros(int(pause(chance) * STT_SAMPLE_RATE))])
