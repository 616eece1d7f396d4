"""Compares two variants of the command, alternately on the same recordings.

Both variants are restarted for every few clips, each with its own home, and take turns going first.
The times come from the assistant's own ledger. They run from the end of speech that the assistant
detects in the recording, which is the same for both, to the first sample of the answer.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from assistant.paths import Home
from models.interfaces import STT_SAMPLE_RATE
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.report import first_audio, in_ms
from scripts.common.assistant_process import talking, turns_in
from scripts.common.rows import Keep
from scripts.common.statistics import percentile, ratio, rounded, rounded_interval

LEAD_IN_S = 6.0
"""Silence before a session's first clip, during which the assistant finishes starting."""
QUIET_DBFS = -80.0
FLAGS = (
    *("--set", "general.sounds=false"),  # the chime would be the first sound
    *("--set", "llm.temperature=0"),
    *("--set", "llm.max_answer_tokens=16"),
)
TOGETHER = 3
"""Clips in one session."""
PAUSE_S = 1.5
"""Silence before each clip except a session's first."""
ALLOWED = 1.10
"""The upper end of the ratio's interval should not exceed this."""

Run = Callable[[Path, Sequence[str], int], None]
"""Runs the command; takes the home, the flags and the number of turns."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Milliseconds to the first sound of the answer to one clip, without and with the feature under
    test; None if the clip was not answered as one turn."""

    file: str
    without: float | None
    beside: float | None

    @property
    def comparable(self) -> bool:
        return None not in (self.without, self.beside)


def paired(
    clips: Sequence[Clip],
    arms: Mapping[str, Run],
    profile: str,
    folder: Path,
    keep: Keep,
    pause_s: float = PAUSE_S,
) -> list[Pair]:
    """Play the clips to both arms, a few at a time; each session begins with a clip that warms it
    up.

    Args:
        arms: two functions by name; the first runs without the feature under test.

    Raises:
        Ended: a session did not start, or did not end as it should.
    """
    pairs: list[Pair] = []
    names = tuple(arms)
    for number, first in enumerate(range(0, len(clips), TOGETHER)):
        some = clips[first : first + TOGETHER]
        flags = ["--profile", profile, *FLAGS]
        for clip, before_s in zip(
            (clips[0], *some), (LEAD_IN_S, *(pause_s for _ in some)), strict=True
        ):
            flags += ["--input", str(_in_a_room(clip, folder, before_s))]
        times: dict[str, list[float | None]] = {}
        for arm in names if number % 2 else names[::-1]:
            home = folder / f"{arm}-{number}"
            arms[arm](home, flags, len(some) + 1)
            times[arm] = _first_audio(home, len(some) + 1)[1:]
        for clip, *ms in zip(some, *(times[arm] for arm in names), strict=True):
            pairs.append(Pair(clip.name, *ms))
            shown = "  ".join(
                f"{arm} {in_ms(each):>6}" for arm, each in zip(names, ms, strict=True)
            )
            told = f"{len(pairs):4}/{len(clips)}  {clip.name:50.50}  {shown}"
            print(told, file=sys.stderr, flush=True)
            keep({"file": clip.name} | dict(zip(names, ms, strict=True)))
    return pairs


def figures(pairs: Sequence[Pair], names: tuple[str, str], seed: int) -> dict[str, Any]:
    """All figures; a ratio above 1 says that an answer takes longer with the feature under test.

    Args:
        names: the two arms; the first is without the feature.
    """
    found: dict[str, Any] = {
        name: {
            "first_audio_ms": {f"p{q}": rounded(_latency(pairs, beside, q)) for q in (50, 95)},
            "unanswered": sum(_of(pair, beside) is None for pair in pairs),
        }
        for beside, name in enumerate(names)
    }
    for q in (50, 95):

        def slower(drawn: Sequence[Pair], q: float = q) -> float | None:
            return ratio(_latency(drawn, True, q), _latency(drawn, False, q))

        bounds = rounded_interval(pairs, slower, seed=seed, digits=3)
        found |= {f"ratio_p{q}": rounded(slower(pairs), 3), f"ratio_p{q}_interval": bounds}
    return found | {
        "ratio_of_a_pair": rounded(_of_a_pair(pairs), 3),
        "ratio_of_a_pair_interval": rounded_interval(pairs, _of_a_pair, seed=seed, digits=3),
        "allowed": ALLOWED,
        "clips": len(pairs),
        "compared": sum(pair.comparable for pair in pairs),
    }


def table(found: dict[str, Any], names: tuple[str, str]) -> str:
    """The figures as text for a person."""
    of_a_pair = found["ratio_of_a_pair"], found["ratio_of_a_pair_interval"]
    return first_audio(found, names) + "\nof one pair, at p50: {} (95 %: {})".format(*of_a_pair)


def headless(home: Path, flags: Sequence[str], turns: int) -> None:
    """Run `assistant talk --json` to its end."""
    del turns  # the command ends by itself
    with talking(home, flags) as assistant:
        assistant.event("ended")


def _of(pair: Pair, beside: int) -> float | None:
    return pair.beside if beside else pair.without


def _of_a_pair(pairs: Sequence[Pair]) -> float | None:
    """The median ratio of a clip's time with the feature to its time without. Whatever makes a clip
    slow in both cases cancels out."""
    ratios = [ratio(pair.beside, pair.without) for pair in pairs]
    return percentile([each for each in ratios if each is not None], 50)


def _first_audio(home: Path, clips: int) -> list[float | None]:
    """Milliseconds for each clip. All are None if some clip of the session became several turns or
    none."""
    turns = turns_in(Home(home))
    if len(turns) != clips:
        return [None] * clips
    return [turn["latency_ms"]["first_audio"] for turn in turns]


def _in_a_room(clip: Clip, folder: Path, before_s: float) -> Path:
    """Write the clip to a file, after quiet noise: a real room is never digitally silent."""
    path = folder / f"{before_s:.1f}-{Path(clip.name).stem}.wav"
    level = 32768 * 10 ** (QUIET_DBFS / 20)
    noise = np.random.default_rng(0).standard_normal(int(before_s * STT_SAMPLE_RATE))
    sound = np.concatenate([(noise * level).astype(np.int16), clip.samples])
    soundfile.write(path, sound, STT_SAMPLE_RATE)
    return path


def _latency(pairs: Sequence[Pair], beside: int, q: float) -> float | None:
    times = [_of(pair, beside) for pair in pairs if pair.comparable]
    return percentile([ms for ms in times if ms is not None], q)
