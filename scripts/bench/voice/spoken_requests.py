"""Times how fast skills reply to spoken requests, which alternate with ordinary turns.

Times count from the decision that the turn is over, because nothing may be done before it.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np

from assistant.voice.audio.resampling import Resampler
from models.interfaces import STT_SAMPLE_RATE, TextToSpeech
from scripts.bench.voice.labels import Clip, end_of_speech
from scripts.bench.voice.listening import Outcome, System
from scripts.bench.voice.report import in_ms
from scripts.common.rows import Keep
from scripts.common.statistics import percentile, rounded, rounded_interval

REQUESTS = (
    "What time is it?",
    "Set a timer for ten minutes.",
    "Add milk to my shopping list.",
    "What's the date today?",
    "Wake me up at seven tomorrow.",
    "What is fifteen percent of eighty?",
    "Remind me at six to call Anna.",
    "What's on my shopping list?",
    "How much time is left on my timer?",
    "Take a note. The plumber comes on Tuesday.",
    "What can you do?",
    "Turn off the lights in the kitchen.",
    "Which alarms are set?",
    "How many grams are in two pounds?",
    "Please speak a bit more slowly.",
    "Read me my notes.",
)
ALLOWED_MS = 150
"""The median time from the decision that a turn is over to the first sound of the reply should not
exceed this."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the assistant did with a spoken request, or with an ordinary clip."""

    clip: Clip
    request: bool
    outcome: Outcome

    @property
    def after_decision_ms(self) -> float | None:
        """The time from the decision that the turn is over to the first sound; None if the clip was
        not answered as it should be."""
        first, decided = self.outcome.first_audio_ms, self.outcome.stages.get("turn_decided")
        answered = bool(self.outcome.reply) is self.request and not self.outcome.split
        return first - decided if answered and first is not None and decided is not None else None


def spoken(voice: TextToSpeech, count: int) -> list[Clip]:
    """The requests, spoken by a loaded voice; they repeat if there are fewer than `count`.
    Blocking."""
    return list(islice(cycle([_clip(voice, text) for text in REQUESTS[:count]]), count))


def _clip(voice: TextToSpeech, text: str) -> Clip:
    sound = np.concatenate([piece.samples for piece in voice.synthesize(text)])
    samples = Resampler(voice.sample_rate, STT_SAMPLE_RATE).process(sound)
    return Clip(text, samples, end_of_speech(samples), text, finished=True)


async def alternating(
    system: System, requests: Sequence[Clip], clips: Sequence[Clip], keep: Keep
) -> list[Heard]:
    """Play each request, and after it an ordinary clip. One of each is played beforehand, to warm
    up."""
    for warm in (requests[0], clips[0]):
        await system.hear(warm)
    found = []
    for number, pair in enumerate(zip(requests, cycle(clips), strict=False), 1):
        for clip, request in zip(pair, (True, False), strict=True):
            heard = Heard(clip, request, await system.hear(clip))
            found.append(heard)
            keep({"file": clip.name, "request": request, "heard": asdict(heard.outcome)})
            told = f"{in_ms(heard.after_decision_ms):>6}  {heard.outcome.reply}"
            print(f"{number:4}/{len(requests)}  {clip.name:50.50}{told}", file=sys.stderr)
    return found


def figures(heard: Sequence[Heard], seed: int) -> dict[str, Any]:
    """All figures, in milliseconds."""
    kinds = {"requests": True, "ordinary": False}
    found = {
        name: _of_kind([each for each in heard if each.request is request], seed)
        for name, request in kinds.items()
    }
    return found | {"allowed_ms": ALLOWED_MS}


def _of_kind(heard: Sequence[Heard], seed: int) -> dict[str, Any]:
    def after(q: float, drawn: Sequence[Heard] = heard) -> float | None:
        return percentile([each for each in map(_after_decision, drawn) if each is not None], q)

    answered = [each for each in heard if each.after_decision_ms is not None]
    since_speech = [each.outcome.first_audio_ms for each in answered]
    return {
        "clips": len(heard),
        "answered": len(answered),
        "after_decision_ms": {
            **{f"p{q}": rounded(after(q)) for q in (50, 95)},
            "p50_interval": rounded_interval(heard, lambda drawn: after(50, drawn), seed=seed),
        },
        "first_audio_ms": {
            f"p{q}": rounded(percentile([each for each in since_speech if each is not None], q))
            for q in (50, 95)
        },
    }


def _after_decision(heard: Heard) -> float | None:
    return heard.after_decision_ms


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    lines = [
        f"{'ms':12}{'decision to sound: p50':>24}{'p95':>8}{'speech to sound: p50':>24}{'p95':>8}"
    ]
    for name in ("requests", "ordinary"):
        each = found[name]
        times = each["after_decision_ms"], each["first_audio_ms"]
        cells = [in_ms(time[q]) for time in times for q in ("p50", "p95")]
        counted = f"{each['answered']} of {each['clips']}"
        row = f"{name:12}{cells[0]:>24}{cells[1]:>8}{cells[2]:>24}{cells[3]:>8}"
        lines.append(f"{row}  {counted} answered as they should be")
    return "\n".join(lines)
