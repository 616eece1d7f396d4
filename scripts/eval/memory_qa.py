"""Types whole conversations, and measures how well answers use what was said in an earlier one."""

import random
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data import located
from scripts.common.assistant_process import talking
from scripts.common.rows import Keep, read_rows
from scripts.common.statistics import ratio, rounded, rounded_interval

FACTS = "evaluation/qa_facts.jsonl"
SMALL_TALK = "evaluation/qa_small_talk.jsonl"
WAYS = ("on", "off", "told")
SETTINGS = {
    "context.resume_within_h": "0",
    "llm.temperature": "0",
    "llm.max_answer_tokens": "80",
    "llm.timeout_s": "300",  # an apology after a timeout would count as a wrong answer
}
TELLING = {"context.max_turns": "4", "llm.max_answer_tokens": "24"}
"""Settings for the first session: short answers and prompts, since its answers don't matter."""
EARLIER = "I told you earlier: {said}. {question}"


@dataclass(frozen=True, slots=True)
class Fact:
    id: str
    kind: str
    said: tuple[str, ...]
    """The statements in the order in which they are made; the last one is true now."""
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of one question asked in one way. `shown` is set if the fact was in the notes or
    the question."""

    fact: str
    kind: str
    way: str
    question: str
    answer: str
    right: bool
    shown: bool


def read_facts(limit: int | None, seed: int) -> list[Fact]:
    """All facts, or `limit` of them, with all kinds represented as evenly as possible."""
    rows = read_rows(located(FACTS))
    facts = [Fact(**(row | {k: tuple(row[k]) for k in ("said", "answers")})) for row in rows]
    random.Random(seed).shuffle(facts)
    places: dict[str, int] = {}
    order = {}
    for fact in facts:
        order[fact.id] = places[fact.kind] = places.get(fact.kind, 0) + 1
    return sorted(facts, key=lambda fact: order[fact.id])[:limit]


def telling(facts: Sequence[Fact], seed: int) -> list[str]:
    """The lines of the first session. Statements that replace earlier ones follow in a second
    round."""
    draw = random.Random(seed)
    small = [row["said"] for row in read_rows(located(SMALL_TALK))]
    lines = []
    for place in range(max(len(fact.said) for fact in facts)):
        said = [fact.said[place] for fact in facts if place < len(fact.said)]
        draw.shuffle(said)
        for each in said:
            lines += [draw.choice(small), each] if draw.random() < 0.5 else [each]
    return lines


def right(answer: str, accepted: Sequence[str]) -> bool:
    """Whether the answer contains one of the accepted strings, as whole words.

    >>> right("It's on the 9th of October!", ["9th of october"]), right("Martin", ["Mart"])
    (True, False)
    """
    words = f" {_plain(answer)} "
    return any(f" {_plain(each)} " in words or f" {_plain(each)}s " in words for each in accepted)


def _plain(text: str) -> str:
    text = text.lower().replace("’", "'").replace("'s ", " ")
    return " ".join(re.sub(r"[^\w:]+", " ", re.sub(r"(?<=\d),(?=\d)", "", text)).split())


def arguments(profile: str, **more: str) -> list[str]:
    """Flags for a typed session; the names of `more` have `__` instead of the setting's dot."""
    settings = SETTINGS | {name.replace("__", "."): value for name, value in more.items()}
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["--profile", profile, "--text", *flags]


def tell(home: Path, profile: str, lines: Sequence[str]) -> None:
    """Type all lines in one session, and wait for its end.

    Raises:
        Ended: the command ended too early.
    """
    more = {name.replace(".", "__"): value for name, value in TELLING.items()}
    with talking(home, arguments(profile, **more)) as session:
        session.event("memories")
        for number, line in enumerate(lines, 1):
            session.say(line)
            session.event("turn")
            print(f"\rtold {number}/{len(lines)}", end="", file=sys.stderr, flush=True)
        session.finish()
    print(file=sys.stderr)


def ask(home: Path, profile: str, fact: Fact, way: str, deadline_ms: float) -> Asked:
    """Ask one question in a session of its own.

    Raises:
        Ended: the command ended without an answer.
    """
    question = fact.question
    if way == "told":
        said = ". ".join(fact.said)
        question = EARLIER.format(said=said, question=question)
    more = {"memory__enabled": str(way == "on").lower(), "memory__deadline_ms": f"{deadline_ms:g}"}
    with talking(home, arguments(profile, **more)) as session:
        session.event("memories" if way == "on" else "ready")
        session.say(question)
        turn = session.event("turn")
    notes = [memory["text"] for memory in turn["memories"]]
    return Asked(
        fact=fact.id,
        kind=fact.kind,
        way=way,
        question=question,
        answer=turn["assistant"],
        right=right(turn["assistant"], fact.answers),
        shown=fact.said[-1] in notes or way == "told",
    )


def measured(
    folder: Path,
    facts: Sequence[Fact],
    *,
    profile: str,
    ways: Sequence[str],
    deadline_ms: float,
    seed: int,
    keep: Keep,
) -> list[dict[str, Asked]]:
    """Each fact's results, one for each way of asking.

    Raises:
        Ended: a session ended too early.
    """
    home = folder / "home"
    tell(home, profile, telling(facts, seed))
    found = []
    for number, fact in enumerate(facts, 1):
        row = {}
        for way in ways:
            place = folder / "asking"
            if way == "on":
                shutil.copytree(home, place)
            row[way] = ask(place, profile, fact, way, deadline_ms)
            shutil.rmtree(place)
            keep(asdict(row[way]))
        found.append(row)
        marks = "  ".join(f"{way} {'right' if row[way].right else 'wrong'}" for way in row)
        print(f"{number:3}/{len(facts)}  {fact.question:55.55}  {marks}", file=sys.stderr)
    return found


Rows = Sequence[dict[str, Asked]]


def share(rows: Rows, way: str) -> float:
    return sum(row[way].right for row in rows) / len(rows)


def figures(rows: Rows) -> dict[str, Any]:
    """The share of right answers for each way of asking, overall and by kind of fact. Also `on`
    minus `off` (without memory), and `on` divided by `told` (with the fact in the question)."""
    ways = [way for way in WAYS if way in rows[0]]

    def of(way: str) -> Callable[[Rows], float | None]:
        return lambda drawn: share(drawn, way)

    def less_off(drawn: Rows) -> float | None:
        return share(drawn, "on") - share(drawn, "off")

    def of_told(drawn: Rows) -> float | None:
        return ratio(share(drawn, "on"), share(drawn, "told"))

    found: dict[str, Any] = {
        way: {"share": rounded(share(rows, way), 3), "interval": _bounds(rows, of(way))}
        for way in ways
    }
    if "on" in ways:
        found["on"]["shown"] = rounded(sum(row["on"].shown for row in rows) / len(rows), 3)
    for name, pair, statistic in (
        ("on_less_off", {"on", "off"}, less_off),
        ("on_of_told", {"on", "told"}, of_told),
    ):
        if pair <= set(ways):
            value = {"value": rounded(statistic(rows), 3), "interval": _bounds(rows, statistic)}
            found[name] = value
    by_kind: dict[str, list[dict[str, Asked]]] = {}
    for row in rows:
        by_kind.setdefault(row[ways[0]].kind, []).append(row)
    found["by_kind"] = {
        kind: {"facts": len(some)} | {way: rounded(share(some, way), 3) for way in ways}
        for kind, some in sorted(by_kind.items())
    }
    return found | {"facts": len(rows)}


def _bounds(rows: Rows, statistic: Callable[[Rows], float | None]) -> list[float] | None:
    return rounded_interval(rows, statistic, digits=3)


def table(found: dict[str, Any]) -> str:
    """The figures as text for a person."""
    ways = [way for way in WAYS if way in found]
    lines = [f"{'right answers':14}" + "".join(f"{way:>9}" for way in ways)]
    for kind, row in found["by_kind"].items():
        lines.append(f"{kind:14}" + "".join(f"{row[way]:9.2f}" for way in ways))
    lines.append(f"{'all':14}" + "".join(f"{found[way]['share']:9.2f}" for way in ways))
    lines += [f"95 % of {way}: {found[way]['interval']}" for way in ways]
    if "on" in ways:
        lines.append(f"the notes contained the fact: {found['on']['shown']:.2f}")
    return "\n".join(lines)
