"""Reads recordings for the benchmark, and labels where the speech in them ends.

The end of speech is labelled in advance, from the sound only, so that every system is measured
from the same moment. If a manifest gives the end, that value is used instead.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from assistant.intents.recogniser import recognise
from assistant.voice.audio.files import read_recording
from models.interfaces import STT_SAMPLE_RATE, Samples
from scripts.common.rows import InputUnusable, read_rows
from scripts.common.word_errors import TAGS

FRAME_S = 0.01
BELOW_PEAK_DB = 32.0
"""Speech is at most this far below the peak; weak final consonants are at about -30 dB."""
ABOVE_FLOOR_DB = 10.0
"""Speech is at least this far above the recording's own noise."""
LEAST_CONTRAST_DB = 12.0
"""Even in loud noise, the threshold is at least this far below the peak. Otherwise everything would
count as silence."""
RUN_FRAMES, RUN_LOUD = 5, 3
"""3 of the last 5 frames must be loud, since a click is not speech."""
SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".mp3", ".aiff"})


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording. `speech_end_s` counts from its first sample; `text` is None if unknown."""

    name: str
    samples: Samples
    speech_end_s: float
    text: str | None
    finished: bool
    """False if the speaker meant to continue."""

    @property
    def seconds(self) -> float:
        return len(self.samples) / STT_SAMPLE_RATE


def end_of_speech(samples: Samples) -> float:
    """Seconds until the last sound that is loud enough to be speech.

    Each frame of 10 ms has a level, computed after its mean is subtracted. The peak is the 95th
    percentile of the levels, the floor is the 5th.

    Args:
        samples: 16 kHz mono, containing speech.

    Raises:
        ValueError: the recording contains no sound.
    """
    levels = _frame_levels(samples)
    if not len(levels) or float(np.max(levels)) <= SILENT_DB:
        raise ValueError("there is no sound in this recording")
    peak, floor = (float(np.percentile(levels, q)) for q in (95, 5))
    threshold = min(max(peak - BELOW_PEAK_DB, floor + ABOVE_FLOOR_DB), peak - LEAST_CONTRAST_DB)
    loud = levels >= threshold
    among_last = np.convolve(loud, np.ones(RUN_FRAMES))[: len(loud)]
    speech = np.flatnonzero(loud & (among_last >= RUN_LOUD))
    last = speech[-1] if len(speech) else np.flatnonzero(loud)[-1]
    return round(float(last + 1) * FRAME_S, 3)


SILENT_DB = -99.0


def _frame_levels(samples: Samples) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The level of each whole frame relative to full scale, in dB, at least -100."""
    size = int(FRAME_S * STT_SAMPLE_RATE)
    count = len(samples) // size
    frames = samples[: count * size].astype(np.float64).reshape(count, size)
    frames -= frames.mean(axis=1, keepdims=True) if count else 0.0
    power = np.mean(np.square(frames), axis=1) / 32768.0**2
    return np.asarray(10 * np.log10(power + 1e-10), np.float64)


def read_clips(folder: Path) -> list[Clip]:
    """The recordings of speech listed in a folder's manifest.jsonl, or else all its audio files.

    A manifest holds one object per line. It has the key `file`, and optionally `kind`, `text`,
    `end_of_turn` (false: an unfinished phrase) and `vad_segments` ([start, end] in seconds).
    Recordings whose kind is not "speech" are left out.

    Raises:
        FileNotFoundError: there is no recording.
        RecordingUnreadable: a file is not audio.
        InputUnusable: the manifest is malformed, or a recording contains no sound.
    """
    manifest = folder / "manifest.jsonl"
    if manifest.is_file():
        rows = read_rows(manifest, "file")
        clips = [_from_row(folder, row) for row in rows if row.get("kind", "speech") == "speech"]
    else:
        files = sorted(folder.glob("*")) if folder.is_dir() else []
        clips = [_from_row(folder, {"file": f.name}) for f in files if f.suffix in SUFFIXES]
    if not clips:
        raise FileNotFoundError(f"There are no recordings of speech in {folder}.")
    return clips


def _from_row(folder: Path, row: dict[str, Any]) -> Clip:
    samples = read_recording(folder / row["file"])
    segments = row.get("vad_segments")
    try:
        ended = float(segments[-1][1]) if segments else end_of_speech(samples)
    except ValueError as error:
        raise InputUnusable(f"{folder / row['file']} has no end of speech: {error}.") from error
    text = TAGS.sub(" ", row["text"]).strip() if row.get("text") else None
    return Clip(
        name=row["file"],
        samples=samples,
        speech_end_s=ended,
        text=text or None,
        finished=row.get("end_of_turn") is not False,
    )


def without_commands(clips: list[Clip]) -> list[Clip]:
    """The clips whose words are not a spoken command such as "stop". A command needs no answer, but
    a system without spoken commands would answer it."""
    return [clip for clip in clips if clip.text is None or recognise(clip.text) is None]


def choose(clips: list[Clip], limit: int | None, seed: int) -> list[Clip]:
    """Clips in random order. If there are more than `limit`, up to a quarter of those chosen are
    unfinished phrases."""
    order = Random(seed)
    shuffled = order.sample(clips, len(clips))
    if limit is None or limit >= len(clips):
        return shuffled
    unfinished = [clip for clip in shuffled if not clip.finished][: limit // 4]
    finished = [clip for clip in shuffled if clip.finished][: limit - len(unfinished)]
    chosen = [*finished, *unfinished]
    return order.sample(chosen, len(chosen))
