"""Computes and shows how good the assistant's answers are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean
from textwrap import shorten
from typing import Any

from assistant.voice.answer_check import NOT_DONE
from scripts.common.statistics import rounded, rounded_interval
from scripts.eval.answer_data import NEVER, UNKNOWABLE
from scripts.eval.answer_rules import Verdict
from scripts.eval.session_turns import Turn

UNKNOWN = frozenset({NEVER, UNKNOWABLE})
"""Kinds of questions that can't be answered. Any name in the answer may be invented."""
OF_MEMORIES = ("shown", "right_of_shown")
LONGEST = 150
"""Maximum number of characters to show of the reason why an answer is wrong."""
NARROWEST = 12
"""Minimum width of a column, in characters."""
FAULTS = ("person", "repeats", "echoes", "too_short", "too_long", "unspeakable")


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer and its judgement.

    Attributes:
        of: the id of the conversation or the person.
        shown: whether the prompt showed all statements that the answer needs; None if it needs
            none.
    """

    of: str
    kind: str
    asked: str
    turn: Turn
    verdict: Verdict
    shown: bool | None = None


def figures(found: Sequence[Judged]) -> dict[str, Any]:
    """The share of right answers, with an interval over conversations or people, and the shares of
    answers with each fault.

    A share counts only the answers to which it applies, and is None if there are none. `shown`
    counts the answers that need statements; `right_of_shown`, the answers whose statements the
    prompt shows; `invented`, the language model's answers to questions that can't be answered.
    """
    of, kinds = _by(found, "of"), _by(found, "kind")
    needing = [each for each in found if each.shown is not None]
    prompts = [each.turn.prompt for each in found if each.turn.prompt is not None]
    unknown = [each for each in found if each.kind in UNKNOWN and each.turn.prompt is not None]
    return {
        "answers": len(found),
        "right": share(found, _right),
        "interval": rounded_interval(list(of.values()), _right_in_groups, digits=3),
        "by_kind": {
            kind: {"answers": len(some), "right": share(some, _right)}
            for kind, some in sorted(kinds.items())
        },
        "shown": share(needing, attrgetter("shown")),
        "right_of_shown": share([each for each in needing if each.shown], _right),
        **{name: _faulty(found, name) for name in FAULTS},
        "invented": share(unknown, attrgetter("verdict.invented")),
        "cut": share(found, lambda each: each.turn.text.endswith(NOT_DONE)),
        "by_skill": share(found, attrgetter("turn.by_skill")),
        "fixed": share(found, attrgetter("turn.fixed")),
        "seconds": _mean([each.verdict.seconds for each in found]),
        "prompt_tokens": _mean([each.tokens for each in prompts]),
        "note_tokens": _mean([each.memories.tokens for each in prompts]),
        "notes": _mean([len(each.memories.used) for each in prompts]),
    }


def share(some: Sequence[Judged], holds: Callable[[Judged], object]) -> float | None:
    return rounded(sum(bool(holds(each)) for each in some) / len(some), 3) if some else None


def _by(found: Sequence[Judged], name: str) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for each in found:
        groups.setdefault(getattr(each, name), []).append(each)
    return groups


def _faulty(found: Sequence[Judged], name: str) -> float | None:
    has = attrgetter(f"verdict.{name}")
    return share([each for each in found if has(each) is not None], has)


def _mean(values: Sequence[float]) -> float | None:
    return rounded(fmean(values)) if values else None


def _right(each: Judged) -> bool:
    return each.verdict.right


def _right_in_groups(groups: Sequence[Sequence[Judged]]) -> float | None:
    return share([each for group in groups for each in group], _right)


# -- for people ---------------------------------------------------------------------------------


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures of all models as text, with a column for each model."""
    first, *_ = found.values()
    rows = {"right": [_percent(each["right"]) for each in found.values()]}
    rows["  95 %"] = [_bounds(each["interval"]) for each in found.values()]
    for kind, of in first["by_kind"].items():
        name = f"  {kind} ({of['answers']})"
        rows[name] = [_percent(each["by_kind"][kind]["right"]) for each in found.values()]
    for name in (*OF_MEMORIES, *FAULTS, "invented", "cut", "by_skill", "fixed"):
        if first[name] is not None:
            rows[name] = [_percent(each[name]) for each in found.values()]
    for name in ("seconds", "prompt_tokens", "note_tokens", "notes"):
        if first[name] is not None:
            rows[name] = [f"{each[name] or 0:g}" for each in found.values()]
    wide = max(map(len, rows)) + 2
    widths = [max(len(name), NARROWEST) + 2 for name in found]
    return "\n".join(
        f"{name:{wide}}" + "".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        for name, cells in ({"": list(found)} | rows).items()
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _bounds(interval: Sequence[float] | None) -> str:
    return "" if interval is None else f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}"


def shown(each: Judged) -> str:
    """An answer with its judgement, for a person to check."""
    verdict, turn = each.verdict, each.turn
    faults = [name for name in FAULTS if getattr(verdict, name)]
    faults += [f"it has {verdict.unspeakable}"] if verdict.unspeakable else []
    faults += [f"invented {', '.join(verdict.invented)}"] if verdict.invented else []
    by = ", by a skill" if turn.by_skill else ", fixed" if turn.fixed else ""
    lost = {None: "", True: ", shown", False: ", not shown"}[each.shown]
    lines = [f"[{each.of} {each.kind}{by}{lost}] {each.asked}"]
    if turn.prompt is not None:
        lines += [f"    {line}" for line in turn.prompt.memories.text.splitlines()]
    how = f"WRONG: {shorten(verdict.wrong, LONGEST)}" if verdict.wrong else "right"
    text = turn.text if verdict.unspeakable else turn.spoken
    return "\n".join([*lines, f"    {text!r}", f"    {'; '.join([how, *faults])}"])
