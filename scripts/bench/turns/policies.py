"""Rules for the end of a turn, and what they do with the pauses of recordings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assistant.voice.turns.end_of_turn import RECHECK_S, EndOfTurn, read_weights
from assistant.voice.turns.endpointing import WINDOW_S
from assistant.voice.turns.pipecat_models import NoDetector
from scripts.bench.turns.pauses import ANSWER_S, Heard, Pause
from scripts.bench.voice.listening import CUT_OFF_S
from scripts.common.statistics import interval, percentile

STOCK_LONGEST_S = 3.0
"""Seconds of silence after which pipecat ends a turn that doesn't sound finished."""
FIXED_S = (0.3, 0.7)
Figures = Mapping[str, float | int | list[float] | None]
Policy = Callable[[Pause, float], bool]
"""Whether a turn ends in this pause after so many seconds of silence."""


def ours(ends: EndOfTurn, answer_s: float = ANSWER_S) -> Policy:
    def is_over(pause: Pause, silence_s: float) -> bool:
        sure = ends.is_sure(pause.evidence(RECHECK_S), RECHECK_S)
        return ends.is_over(pause.evidence(silence_s, answer_s, rechecked=not sure), silence_s)

    return is_over


def stock(pause: Pause, silence_s: float) -> bool:
    """Smart Turn as pipecat ships it, with a recogniser that is never waited for."""
    judged_s, odds = pause.stock
    return silence_s >= judged_s and (odds > 0 or silence_s >= STOCK_LONGEST_S)


def silence_of(seconds: float) -> Policy:
    """A fixed silence, but not before the words are known."""
    return lambda pause, silence_s: silence_s >= max(seconds, pause.transcribed_s)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a recording.

    `wait_s` are the seconds from the labelled end of speech until the turn was over, negative if it
    ended in an earlier pause; None if it did not end while it was listened to.
    """

    finished: bool
    wait_s: float | None
    early: bool

    @property
    def failed(self) -> bool:
        """Whether a finished turn was split, or an unfinished phrase was cut off."""
        if self.finished:
            return self.early
        return self.wait_s is not None and self.wait_s <= CUT_OFF_S


def outcome(heard: Heard, policy: Policy) -> Outcome:
    """Apply a rule to the pauses of a recording, in steps of one window."""
    for pause in heard.pauses:
        for step in range(1, round(pause.lasts_s / WINDOW_S) + 1):
            silence_s = step * WINDOW_S
            if pause.words and policy(pause, silence_s):
                wait_s = pause.began_s + silence_s - heard.clip.speech_end_s
                return Outcome(heard.clip.finished, wait_s, early=not pause.last)
    return Outcome(heard.clip.finished, None, early=False)


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """The share of finished turns that are split, the share of unfinished phrases that are cut off,
    and percentiles, in milliseconds, of the wait after finished turns that are not split."""
    finished = [each for each in outcomes if each.finished]
    unfinished = [each for each in outcomes if not each.finished]
    waits = [each.wait_s * 1000 for each in finished if each.wait_s is not None and not each.early]
    found: dict[str, float | int | list[float] | None] = {
        "finished": len(finished),
        "unfinished": len(unfinished),
        "split": failed_share(finished),
        "cut_off": failed_share(unfinished),
    }
    for name, some in (("split", finished), ("cut_off", unfinished)):
        bounds = interval(some, failed_share)
        found[f"{name}_interval"] = [round(each, 3) for each in bounds] if bounds else None
    for q in (50, 95):
        wait = percentile(waits, q)
        found[f"wait_p{q}"] = None if wait is None else round(wait)
    return found


def failed_share(outcomes: Sequence[Outcome]) -> float | None:
    """The share of turns that were split, or of phrases that were cut off; None if there are
    none."""
    if not outcomes:
        return None
    return round(sum(each.failed for each in outcomes) / len(outcomes), 3)


def compared(heard: Sequence[Heard], patience: Sequence[float]) -> dict[str, Figures]:
    """The figures of each rule, by its name."""
    weights = read_weights()
    rules: dict[str, Policy] = {
        f"ours, patience {each:g}": ours(EndOfTurn(NoDetector(), None, weights, each))
        for each in patience
    }
    at_once = EndOfTurn(NoDetector(), None, weights, 1.0)
    rules |= {"ours, answer at once": ours(at_once, 0.0), "Smart Turn in pipecat": stock}
    rules |= {f"silence of {each:g} s": silence_of(each) for each in FIXED_S}
    return {name: figures([outcome(each, rule) for each in heard]) for name, rule in rules.items()}


def table(name: str, found: Mapping[str, Figures]) -> str:
    """The figures as lines of text."""
    counts = next(iter(found.values()))
    lines = [f"{name}: {counts['finished']} finished turns, {counts['unfinished']} unfinished"]
    for rule, row in found.items():
        parts = [f"{key} {row[key]} {row[f'{key}_interval'] or ''}" for key in ("split", "cut_off")]
        lines.append(
            f"  {rule:24} {parts[0]:28} {parts[1]:28} "
            f"wait p50 {row['wait_p50']}, p95 {row['wait_p95']} ms"
        )
    return "\n".join(lines)
