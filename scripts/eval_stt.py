"""Word error and time per clip of the speech recogniser, beside the same model as shipped.

    python scripts/eval_stt.py --clips DIR --models FOLDER… [--threads N] [--json]

DIR holds recordings (16 kHz mono) and `manifest.jsonl`, one object a line with `file` and `text`;
rows without text are left out. Both ways run on each clip in turn, so that load falls on both.
With `--json` the last line is one JSON object.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from faster_whisper import WhisperModel
from num2words import num2words

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.interfaces import STT_SAMPLE_RATE, Samples
from models.stt.whisper import FasterWhisper
from scripts.common.last_line import last_line

STOCK_NO_SPEECH = 0.4
"""pipecat's WhisperSTTService drops segments with at least this probability of silence."""


@dataclass(slots=True)
class Tally:
    errors: int = 0
    words: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def add(self, reference: list[str], heard: list[str], started: float) -> None:
        self.milliseconds.append((time.perf_counter() - started) * 1000)
        self.errors += edit_distance(reference, heard)
        self.words += len(reference)

    def report(self) -> dict[str, float]:
        times = sorted(self.milliseconds)
        return {
            "wer": round(100 * self.errors / self.words, 2),
            "p50_ms": round(statistics.median(times), 1),
            "p95_ms": round(times[int(0.95 * (len(times) - 1))], 1),
        }


def normalised(text: str, *, spelled: bool = True) -> list[str]:
    """Lower case, no punctuation, digits as words, spelled letters one by one.

    References that are written in capitals throughout need `spelled=False`.

    >>> normalised("Erase OJTKS-35!")
    ['erase', 'o', 'j', 't', 'k', 's', 'thirty', 'five']
    """
    words: list[str] = []
    for piece in re.findall(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)*", text):
        if piece.isdigit():
            words += spoken_number(piece)
        elif spelled and piece.isupper() and len(piece) > 1:
            words += list(piece.lower())
        else:
            words.append(piece.lower().replace("'", ""))
    return words


def spoken_number(digits: str) -> list[str]:
    """Up to two digits as a number, longer ones digit by digit, as people say codes."""
    parts = [digits] if len(digits) <= 2 and not digits.startswith("0") else list(digits)
    return [word for part in parts for word in num2words(int(part)).replace("-", " ").split()]


def edit_distance(reference: list[str], heard: list[str]) -> int:
    row = list(range(len(heard) + 1))
    for i, expected in enumerate(reference, 1):
        previous, row[0] = row[0], i
        for j, word in enumerate(heard, 1):
            previous, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, previous + (expected != word)),
            )
    return row[-1]


def clips(folder: Path) -> Iterator[tuple[Samples, str]]:
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not row.get("text"):
            continue
        audio, rate = soundfile.read(folder / row["file"], dtype="int16")
        if rate != STT_SAMPLE_RATE or audio.ndim != 1:
            raise SystemExit(f"{row['file']} is not 16 kHz mono.")
        yield audio[: 30 * STT_SAMPLE_RATE], re.sub(r"<[^>]*>|\[[^]]*\]", " ", row["text"])


def stock(model: WhisperModel) -> Callable[[Samples], str]:
    """What pipecat's WhisperSTTService does with a segment."""

    def transcribe(audio: Samples) -> str:
        segments, _ = model.transcribe(audio.astype(np.float32) / 32768.0, language="en")
        return " ".join(s.text for s in segments if s.no_speech_prob < STOCK_NO_SPEECH)

    return transcribe


def compare(folder: Path, audio: list[tuple[Samples, str]], threads: int) -> dict[str, object]:
    ours = FasterWhisper(folder, threads=threads)
    ours.load()
    theirs = stock(
        WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)
    )
    ways: dict[str, Callable[[Samples], str]] = {
        "ours": lambda samples: ours.transcribe(samples).text,
        "stock": theirs,
    }
    tallies = {name: Tally() for name in ways}
    for samples, text in audio:
        for name, way in ways.items():
            started = time.perf_counter()
            heard = way(samples)
            reference = normalised(text, spelled=not text.isupper())
            tallies[name].add(reference, normalised(heard), started)
    return {"model": folder.name, "threads": threads} | {
        name: tally.report() for name, tally in tallies.items()
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=Path, required=True)
    parser.add_argument("--models", type=Path, nargs="+", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    audio = list(clips(options.clips))
    results = [compare(folder, audio, options.threads) for folder in options.models]
    for result in results:
        print(result)
    if options.json:
        print(last_line({"clips": len(audio), "results": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
