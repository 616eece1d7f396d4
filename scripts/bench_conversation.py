"""A long conversation: what the model reads for a turn, and whether memory grows.

    python scripts/bench_conversation.py [--turns N] [--answer-tokens N] [--pause S]
                                         [--remembered N] [--profile P] [--idle] [--json]

Types N messages to the `assistant` command, each some seconds after the answer to the last. Of each
turn it counts the tokens that the model read before its first word, and of these what is neither of
the newest message nor of the memories in the prompt; and compares the resident memory of all
processes after turn 10 and after the last. With `--remembered` so many exchanges were told two
months ago, and every third message asks for one of them. With `--idle` the language model judges
facts whenever it is quiet. With `--json` the last line is one JSON object.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from assistant.paths import Home
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.llm.llama import LlamaCpp
from models.selection.requested import select_models
from scripts.bench.filling import said_and_asked
from scripts.bench.idle_pending import fill, flags_of
from scripts.bench.voice.report import rounded
from scripts.common.assistant_process import Cost, Ended, talking
from scripts.common.last_line import last_line, machine
from scripts.common.statistics import percentile

ALLOWED_OVER = 16
"""Tokens that a turn may read beside its newest message, the memories and the date, which is told
where the words may depend on it: marks of the template."""
GROWTH_ALLOWED = 5.0
"""Per cent of memory after turn 10."""
EARLY_TURN = 10
ASKED_EVERY = 3

WHO = ("my sister", "the neighbour", "our teacher", "an old friend", "my grandfather", "Maria")
DID = ("told me about", "is looking for", "has just found", "keeps asking for", "wants to sell")
WHAT = ("a small boat", "the train to Lisbon", "a book of maps", "their garden", "a blue bicycle")
WHEN = ("this morning", "last week", "on Tuesday", "a long time ago", "after the storm")
ASK = ("What do you think?", "Why would that be?", "What should I say?", "Is that usual?", "")


@dataclass(frozen=True, slots=True)
class Turn:
    """`block_tokens` are of the memories in the prompt, `date_tokens` of the date above it."""

    number: int
    read_tokens: int
    newest_tokens: int
    block_tokens: int
    date_tokens: int

    @property
    def over(self) -> int:
        return self.read_tokens - self.newest_tokens - self.block_tokens - self.date_tokens


def messages(count: int, seed: int) -> Iterator[str]:
    """Different ones of one to four sentences."""
    random = Random(seed)
    for _ in range(count):
        said = [
            f"{random.choice(WHO)} {random.choice(DID)} {random.choice(WHAT)} {random.choice(WHEN)}"
            for _ in range(random.randint(1, 4))
        ]
        text = ". ".join(part[:1].upper() + part[1:] for part in said)
        yield f"{text}. {random.choice(ASK)}".strip()


def asking_too(said: Iterable[str], asked: Iterable[str]) -> Iterator[str]:
    """Every third of them is a question in place of it."""
    questions = cycle(asked)
    for number, text in enumerate(said, 1):
        yield text if number % ASKED_EVERY else next(questions)


def converse(
    folder: Path,
    arguments: Sequence[str],
    said: Sequence[str],
    counter: LlamaCpp,
    pause_s: float = 0.0,
) -> tuple[list[Turn], dict[int, Cost]]:
    """The turns, and the memory in MB after turn 10 and after the last.

    Args:
        folder: holds the home, `home`, if anything was told before.
        pause_s: after an answer nothing is typed for so long.

    Raises:
        Ended: the command ended before the conversation did.
    """
    read: list[int] = []
    memory: dict[int, Cost] = {}
    record = folder / "talk.jsonl"
    flags = ["--text", "--record", str(record), *arguments]
    with talking(folder / "home", flags) as assistant:
        for number, text in enumerate(said, 1):
            assistant.say(text)
            read.append(assistant.event("turn")["read_tokens"])
            if number in (EARLY_TURN, len(said)):
                memory[number] = assistant.memory_mb()
            print(f"turn {number}: {read[-1]} read", file=sys.stderr, flush=True)
            time.sleep(pause_s)
        assistant.finish()
    parts = shown_in(record)
    turns = [
        Turn(number, tokens, counter.count(text), *parts.get(number, (0, 0)))
        for number, (tokens, text) in enumerate(zip(read, said, strict=True), 1)
    ]
    return turns, memory


def shown_in(record: Path) -> dict[int, tuple[int, int]]:
    """By turn the tokens of the memories and of the date in its prompt, of a recorded
    conversation."""
    found: dict[int, tuple[int, int]] = {}
    for line in record.read_text("utf-8").splitlines():
        event = json.loads(line).get("event", {})
        if isinstance(event, dict) and event.get("type") == "PromptBuilt":
            tokens = {each["name"]: each["tokens"] for each in event["sections"]}
            found[event["turn"]] = tokens.get("memories", 0), tokens.get("state", 0)
    return found


def figures(turns: Sequence[Turn], memory: dict[int, Cost]) -> dict[str, Any]:
    over = [turn.over for turn in turns]
    found: dict[str, Any] = {
        "turns": len(turns),
        "memories_tokens": {"max": max(turn.block_tokens for turn in turns)},
        "with_memories": sum(turn.block_tokens > 0 for turn in turns),
        "with_date": sum(turn.date_tokens > 0 for turn in turns),
        "read_over_newest_tokens": {
            "p50": rounded(percentile(over, 50)),
            "max": max(over),
            "allowed": ALLOWED_OVER,
            "turns_above": [turn.number for turn in turns if turn.over > ALLOWED_OVER],
        },
        "memory_mb": {
            f"turn_{number}": {
                "assistant": round(cost.assistant, 1),
                "workers": round(cost.workers, 1),
            }
            for number, cost in memory.items()
        },
    }
    early, last = memory.get(EARLY_TURN), memory.get(len(turns))
    if early is not None and last is not None and len(turns) > EARLY_TURN:
        growth = 100 * (last.total / early.total - 1)
        found["memory_growth_percent"] = round(growth, 2)
        found["memory_growth_allowed_percent"] = GROWTH_ALLOWED
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--answer-tokens", type=int, help="longest answer; default: the setting's")
    parser.add_argument("--pause", type=float, default=1.0, metavar="S", help="between turns")
    parser.add_argument("--remembered", type=int, default=0, help="exchanges of long ago")
    parser.add_argument("--profile", default="tiny", choices=("tiny", "small", "default"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--idle", action="store_true", help="with work between utterances")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    where = machine()
    flags = ["--profile", options.profile, *(flags_of(pending=True) if options.idle else [])]
    if options.answer_tokens:
        flags += ["--set", f"llm.max_answer_tokens={options.answer_tokens}"]
    try:
        shop = select_models(Settings.model_validate({"general": {"profile": options.profile}}))
        counter = LlamaCpp(ModelStore.weights(shop.store, shop.profile.llm))
        said = list(messages(max(1, options.turns), options.seed))
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            if options.remembered:
                fill(Home(folder / "home"), options.profile, options.remembered)
                facts = said_and_asked()[1][: options.remembered]
                said = list(asking_too(said, (question for _, question in facts)))
            turns, memory = converse(folder, flags, said, counter, options.pause)
    except (AssistantError, Ended) as error:
        print(f"The conversation did not come to its end: {error}", file=sys.stderr)
        return 1
    found = figures(turns, memory) | {"profile": options.profile, "machine": where}
    read = found["read_over_newest_tokens"]
    print(f"turns with memories {found['with_memories']}, with the date {found['with_date']}")
    print(
        f"read beside these and the newest message: p50 {read['p50']}, at most {read['max']} tokens"
    )
    print(f"turns above {ALLOWED_OVER}: {read['turns_above'] or 'none'}")
    print(f"memory growth after turn {EARLY_TURN}: {found.get('memory_growth_percent', '-')} %")
    if options.json:
        print(last_line(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
