"""Turns outcomes into figures: latencies, word error rate, turns that were cut off or split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.common.statistics import percentile, ratio, rounded, rounded_interval
from scripts.common.word_errors import edit_distance, normalised

STAGES = (
    "voice_stopped",
    "transcription_began",
    "transcript",
    "turn_decided",
    "first_token",
    "clause_written",
    "clause_spoken",
    "first_audio",
)
"""Stages in order of time. In our system, `voice_stopped` is the detected end of speech. In stock,
it is the moment at which the detector reports the end, after 0.2 s of silence. `clause_written` is
when the voice is asked for the first clause, and `clause_spoken` is when it yields the first
sound."""
WITHIN_S = (1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """The outcomes of both systems for one clip."""

    clip: Clip
    ours: Outcome
    stock: Outcome

    def of(self, name: str) -> Outcome:
        return self.ours if name == "ours" else self.stock

    @property
    def comparable(self) -> bool:
        """Whether the clip is a finished phrase that both systems answered as one turn."""
        both = (self.ours.latency_ms, self.stock.latency_ms)
        return self.clip.finished and None not in both


def word_errors(clip: Clip, outcome: Outcome) -> tuple[int, int]:
    """The number of word errors in the understood text of a clip, and of words in its true text."""
    if clip.text is None:
        return 0, 0
    reference = normalised(clip.text, spelled=not clip.text.isupper())
    return edit_distance(reference, normalised(outcome.text)), len(reference)


def word_error_rate(pairs: Sequence[Pair], name: str) -> float | None:
    """Word errors in per cent of all words of all clips."""
    counts = [word_errors(pair.clip, pair.of(name)) for pair in pairs]
    words = sum(count for _, count in counts)
    return 100 * sum(errors for errors, _ in counts) / words if words else None


def latency(pairs: Sequence[Pair], name: str, q: float) -> float | None:
    values = [pair.of(name).latency_ms for pair in pairs if pair.comparable]
    return percentile([value for value in values if value is not None], q)


def stage_figures(pairs: Sequence[Pair], name: str) -> dict[str, dict[str, float | None]]:
    figures: dict[str, dict[str, float | None]] = {}
    for stage in STAGES[:-1]:
        found = [pair.of(name).stages.get(stage) for pair in pairs if pair.comparable]
        values = [value for value in found if value is not None]
        if values:
            figures[stage] = {f"p{q}": rounded(percentile(values, q)) for q in (50, 95)}
    return figures


def of_system(pairs: Sequence[Pair], name: str, seed: int) -> dict[str, Any]:
    unfinished = [pair for pair in pairs if not pair.clip.finished]
    finished = [pair for pair in pairs if pair.clip.finished]

    def bounds(statistic: Callable[[Sequence[Pair]], float | None]) -> list[float] | None:
        return rounded_interval(pairs, statistic, seed=seed)

    return {
        "first_audio_ms": {
            "p50": rounded(latency(pairs, name, 50)),
            "p95": rounded(latency(pairs, name, 95)),
            "p50_interval": bounds(lambda drawn: latency(drawn, name, 50)),
            "p95_interval": bounds(lambda drawn: latency(drawn, name, 95)),
        },
        "stages_ms": stage_figures(pairs, name),
        "wer": rounded(word_error_rate(pairs, name), 2),
        "wer_interval": bounds(lambda drawn: word_error_rate(drawn, name)),
        "cut_offs": sum(pair.of(name).cut_off for pair in unfinished),
        "unfinished_decided_ms": _decisions([pair.of(name) for pair in unfinished]),
        "splits": sum(pair.of(name).split for pair in pairs),
        "unanswered": sum(pair.of(name).first_audio_ms is None for pair in finished),
    }


def _decisions(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The times at which unfinished phrases were judged to be over. `cut_offs` alone doesn't show
    whether a wait is just above its limit or leaves the speaker time to continue."""
    moments = [min(decided for decided, _ in each.turns) for each in outcomes if each.turns]
    within = {f"{limit:g}_s": sum(m <= limit * 1000 for m in moments) for limit in WITHIN_S}
    return {"p50": rounded(percentile(moments, 50)), "within": within}


def figures(pairs: Sequence[Pair], seed: int) -> dict[str, Any]:
    """All figures, with bootstrap 95 % intervals over the clips."""

    def speedup(q: float) -> Callable[[Sequence[Pair]], float | None]:
        return lambda drawn: ratio(latency(drawn, "stock", q), latency(drawn, "ours", q))

    def wer_difference(drawn: Sequence[Pair]) -> float | None:
        ours, stock = (word_error_rate(drawn, name) for name in ("ours", "stock"))
        return None if ours is None or stock is None else ours - stock

    found: dict[str, Any] = {name: of_system(pairs, name, seed) for name in ("ours", "stock")}
    for q in (50, 95):
        found[f"ratio_p{q}"] = rounded(speedup(q)(pairs), 2)
        found[f"ratio_p{q}_interval"] = rounded_interval(pairs, speedup(q), seed=seed, digits=2)
    found["wer_difference"] = rounded(wer_difference(pairs), 2)
    found["wer_difference_interval"] = rounded_interval(pairs, wer_difference, seed=seed, digits=2)
    found["clips"] = len(pairs)
    found["compared"] = sum(pair.comparable for pair in pairs)
    found["unfinished"] = sum(not pair.clip.finished for pair in pairs)
    return found


def first_audio(found: dict[str, Any], names: Sequence[str]) -> str:
    """The times of two systems, and the ratios of the second system's times to the first's, as text
    for a person."""
    lines = [f"{'first audio, ms':18}{'p50':>8}{'p95':>8}"]
    for name in names:
        times = found[name]["first_audio_ms"]
        lines.append(f"{name:18}{in_ms(times['p50']):>8}{in_ms(times['p95']):>8}")
    for q in (50, 95):
        told = f"{names[1]} / {names[0]} at p{q}: {found[f'ratio_p{q}']}"
        lines.append(f"{told} (95 %: {found[f'ratio_p{q}_interval']})")
    return "\n".join(lines)


def in_ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def table(found: dict[str, Any]) -> str:
    """The figures as lines for a person."""
    ours, stock = found["ours"], found["stock"]
    lines = [
        f"{'ms from the end of speech':28}{'ours p50':>10}{'p95':>8}{'stock p50':>12}{'p95':>8}"
    ]
    for stage in STAGES:
        cells = []
        for system in (ours, stock):
            whole = system["first_audio_ms"] if stage == "first_audio" else None
            row = whole or system["stages_ms"].get(stage, {})
            cells += [row.get("p50"), row.get("p95")]
        shown = [in_ms(cell) for cell in cells]
        lines.append(f"{stage:28}{shown[0]:>10}{shown[1]:>8}{shown[2]:>12}{shown[3]:>8}")
    for key, title in (
        ("wer", "word error, %"),
        ("cut_offs", f"cut off, of {found['unfinished']}"),
        ("splits", f"split, of {found['clips']}"),
        ("unanswered", "unanswered"),
    ):
        lines.append(f"{title:28}{ours[key]!s:>18}{stock[key]!s:>20}")
    waits = [system["unfinished_decided_ms"]["within"] for system in (ours, stock)]
    lines.append(f"unfinished phrases judged over within: ours {waits[0]}, stock {waits[1]}")
    for q in (50, 95):
        bounds = found[f"ratio_p{q}_interval"]
        lines.append(f"stock / ours at p{q}: {found[f'ratio_p{q}']} (95 %: {bounds})")
    return "\n".join(lines)
