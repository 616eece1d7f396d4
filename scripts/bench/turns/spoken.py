"""Turns spoken by a voice of this machine, with the pauses that their writers marked."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assistant.voice.audio.resampling import Resampler
from models.interfaces import STT_SAMPLE_RATE, Samples, TextToSpeech
from scripts.bench.turns.pauses import ROOM
from scripts.bench.voice.labels import Clip, end_of_speech
from scripts.common.spoken_turns import SpokenTurn

PAUSE_S, SPREAD = 0.5, 0.8
"""The median length in seconds of a pause, and the standard deviation of the lengths' logarithm.
Both are assumed."""
SHORTEST_S, LONGEST_S = 0.2, 2.5
FADE_S = 0.015


class Spoken(NamedTuple):
    """A recording, and the assistant's question that it answers, or an empty string."""

    clip: Clip
    question: str


def clips(turns: Sequence[SpokenTurn], voice: TextToSpeech, seed: int) -> Iterator[Spoken]:
    """Each turn with its pauses. If it has any, also the turn cut off at one of them, as an
    unfinished phrase. The voice speaks the whole turn, so that its pitch doesn't fall before a
    pause. A turn is left out if the voice doesn't tell where the words end."""
    chance = np.random.default_rng(seed)
    for number, turn in enumerate(turns):
        parts = spoken_parts(turn, voice)
        if parts is None:
            continue
        whole = _clip(f"{turn.by}{number}", _joined(parts, chance), turn.said, finished=True)
        yield Spoken(whole, turn.question)
        if len(parts) > 1:
            stop = int(chance.integers(1, len(parts)))
            begun = _joined(parts[:stop], chance)
            cut = _clip(f"{turn.by}{number}-cut", begun, turn.until(stop), finished=False)
            yield Spoken(cut, turn.question)


def spoken_parts(turn: SpokenTurn, voice: TextToSpeech) -> list[Samples] | None:
    """The sound of each part of a turn at 16 kHz; None if the voice doesn't tell where they end."""
    pieces = list(voice.synthesize(turn.said))
    if not pieces:
        return None
    sound = np.concatenate([piece.samples for piece in pieces])
    ends = [word.end_s for piece in pieces for word in piece.words]
    counts = [len(part.split()) for part in turn.parts]
    if len(ends) != sum(counts):
        return None
    cuts = [int(ends[last - 1] * voice.sample_rate) for last in np.cumsum(counts)[:-1]]
    parts = np.split(sound, cuts)
    return [_faded(Resampler(voice.sample_rate, STT_SAMPLE_RATE).process(part)) for part in parts]


def _faded(part: Samples) -> Samples:
    fade = min(len(part), int(FADE_S * STT_SAMPLE_RATE))
    shaped = part.astype(np.float32)
    shaped[len(part) - fade :] *= np.linspace(1, 0, fade)
    return shaped.astype(np.int16)


def _joined(parts: Sequence[Samples], chance: np.random.Generator) -> Samples:
    """The parts with pauses of random lengths between them."""
    made = [parts[0]]
    for part in parts[1:]:
        room = chance.normal(0, ROOM, int(pause(chance) * STT_SAMPLE_RATE)).astype(np.int16)
        made += [room, part]
    return np.concatenate(made)


def pause(chance: np.random.Generator) -> float:
    """A random length of a pause in seconds."""
    return float(np.clip(PAUSE_S * np.exp(chance.normal(0, SPREAD)), SHORTEST_S, LONGEST_S))


def _clip(name: str, samples: Samples, text: str, *, finished: bool) -> Clip:
    return Clip(name, samples, end_of_speech(samples), text, finished)
