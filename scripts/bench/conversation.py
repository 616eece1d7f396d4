"""Types a long conversation into the `assistant` command, and counts the tokens read per turn."""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from assistant.paths import Home
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.llm.llama import LlamaCpp
from models.selection.requested import select_models
from scripts.bench.filling import said_and_asked
from scripts.bench.idle_pending import fill, flags_of
from scripts.common.assistant_process import Cost, talking
from scripts.common.rows import read_rows
from scripts.common.statistics import percentile, rounded

ALLOWED_OVER = 16
"""Maximum number of tokens that the model may read in a turn besides the newest message, the
memories and the date, e.g. for the chat template."""
GROWTH_ALLOWED = 5.0
"""Per cent by which the use of memory may grow after turn 10."""
EARLY_TURN = 10
ASKED_EVERY = 3

WHO = ("my sister", "the neighbour", "our teacher", "an old friend", "my grandfather", "Maria")
DID = ("told me about", "is looking for", "has just found", "keeps asking for", "wants to sell")
WHAT = ("a small boat", "the train to Lisbon", "a book of maps", "their garden", "a blue bicycle")
WHEN = ("this morning", "last week", "on Tuesday", "a long time ago", "after the storm")
ASK = ("What do you think?", "Why would that be?", "What should I say?", "Is that usual?", "")


@dataclass(frozen=True, slots=True)
class Turn:
    """The tokens of one turn. `block_tokens` counts the tokens of the memories in the prompt, and
    `date_tokens` those of the date."""

    number: int
    read_tokens: int
    newest_tokens: int
    block_tokens: int
    date_tokens: int

    @property
    def over(self) -> int:
        return self.read_tokens - self.newest_tokens - self.block_tokens - self.date_tokens


def messages(count: int, seed: int) -> Iterator[str]:
    """Random messages: one to four statements, and usually a question."""
    random = Random(seed)
    for _ in range(count):
        said = [
            f"{random.choice(WHO)} {random.choice(DID)} {random.choice(WHAT)} {random.choice(WHEN)}"
            for _ in range(random.randint(1, 4))
        ]
        text = ". ".join(part[:1].upper() + part[1:] for part in said)
        yield f"{text}. {random.choice(ASK)}".strip()


def asking_too(said: Iterable[str], asked: Iterable[str]) -> Iterator[str]:
    """`said`, with every third message replaced by a question from `asked`."""
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
    """The turns, and the use of memory, in MB, after turn 10 and after the last turn.

    Args:
        folder: the folder whose subfolder `home` is the assistant's home. If there is no such
            subfolder, the assistant begins without memories.
        pause_s: seconds to wait after each answer.

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
            print(f"turn {number}: {read[-1]} tokens read", file=sys.stderr, flush=True)
            time.sleep(pause_s)
        assistant.finish()
    parts = shown_in(record)
    turns = [
        Turn(number, tokens, counter.count(text), *parts.get(number, (0, 0)))
        for number, (tokens, text) in enumerate(zip(read, said, strict=True), 1)
    ]
    return turns, memory


def shown_in(record: Path) -> dict[int, tuple[int, int]]:
    """How many tokens the memories and the date take up in each prompt of a recorded conversation,
    by turn number."""
    found: dict[int, tuple[int, int]] = {}
    for row in read_rows(record):
        event = row.get("event", {})
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
        "memory_mb": {f"turn_{number}": cost.told() for number, cost in memory.items()},
    }
    early, last = memory.get(EARLY_TURN), memory.get(len(turns))
    if early is not None and last is not None and len(turns) > EARLY_TURN:
        growth = 100 * (last.total / early.total - 1)
        found["memory_growth_percent"] = round(growth, 2)
        found["memory_growth_allowed_percent"] = GROWTH_ALLOWED
    return found


def measured(
    *,
    profile: str,
    turns: int,
    seed: int,
    answer_tokens: int | None,
    pause_s: float,
    remembered: int,
    idle: bool,
) -> dict[str, Any]:
    """Measures a whole conversation, with `remembered` old exchanges in the memory.

    Raises:
        AssistantError: something is missing, or the conversation did not reach its end.
    """
    flags = ["--profile", profile, *(flags_of(pending=True) if idle else [])]
    if answer_tokens:
        flags += ["--set", f"llm.max_answer_tokens={answer_tokens}"]
    shop = select_models(Settings.model_validate({"general": {"profile": profile}}))
    counter = LlamaCpp(ModelStore.weights(shop.store, shop.profile.llm))
    said = list(messages(turns, seed))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if remembered:
            fill(Home(folder / "home"), profile, remembered)
            facts = said_and_asked()[1][:remembered]
            said = list(asking_too(said, (question for _, question in facts)))
        read, memory = converse(folder, flags, said, counter, pause_s)
    return figures(read, memory) | {"profile": profile}
