"""Fills a table of memories: facts that questions ask for, among artificial sentences.

The vectors of the artificial sentences are mixtures of real vectors, since encoding 100,000 texts
takes an hour. The vectors of the facts and of all questions are real.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from assistant.context.conversation import Conversation
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.memory import Memory, new_id
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from data import located
from scripts.common.rows import read_rows

DISTRACTORS = "evaluation/paraphrase_distractors.jsonl"
FACTS = "evaluation/paraphrase_facts.jsonl"
USER = "me"
BATCH = 5_000
TURNS = 20
"""Number of exchanges in each conversation."""
SEEDS = 1_000
"""Maximum number of texts, besides the facts, that are encoded. The vectors of the artificial
sentences are mixtures of these texts' vectors."""
SEED = 7

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fact:
    """A planted fact. `row` is its position among all memories in order of time."""

    said: str
    question: str
    row: int
    id: str


@dataclass(frozen=True, slots=True)
class Filled:
    """The rows for filling other stores, and the facts to be found in them.

    `texts` holds one JSON string per line, `vectors` a NumPy array of shape (rows, dimensions).
    """

    rows: int
    texts: Path
    vectors: Path
    facts: tuple[Fact, ...]


def said_and_asked() -> tuple[list[str], list[tuple[str, str]]]:
    """The sentences that are not facts, and the facts, each with its question."""
    distractors, facts = (read_rows(located(name)) for name in (DISTRACTORS, FACTS))
    return [row["said"] for row in distractors], [(row["said"], row["question"]) for row in facts]


def made_up(count: int, facts: Sequence[str], others: Sequence[str]) -> Iterator[list[Memory]]:
    """Yields `count` memories in conversations, in order of time, in batches.

    A few of them are the facts, at random places. Each of the others joins the first half of one
    sentence and the second half of another.
    """
    random = Random(SEED)
    start = datetime.now(UTC) - timedelta(minutes=2 * count)
    planted = dict(zip(sorted(random.sample(range(count), len(facts))), facts, strict=True))
    batch: list[Memory] = []
    conversation = new_id()
    for number in range(count):
        if number % TURNS == 0:
            conversation = new_id()
        first, second = random.choice(others).split(), random.choice(others).split()
        text = " ".join(first[: len(first) // 2 + 1] + second[len(second) // 2 :])
        talk = Conversation.begin(USER)
        moment = start + timedelta(minutes=2 * number)
        talk.append_user(1, planted.get(number, text), moment)
        (memory,) = materialize_exchange(USER, conversation, talk.complete(1, "", ended=moment))
        batch.append(replace(memory, uses=random.randrange(3)))
        if len(batch) == BATCH or number == count - 1:
            yield batch
            batch = []


def mixtures(seeds: Vectors, count: int, random: np.random.Generator) -> Vectors:
    """Unit vectors between real ones, no two alike. With the same seed of `random`, the vectors of
    the same texts are mixed, whatever the encoder."""
    one, two = (seeds[random.integers(len(seeds), size=count)] for _ in range(2))
    share = random.uniform(0.55, 1.0, (count, 1)).astype(np.float32)
    noise = random.normal(0, 0.15 / np.sqrt(seeds.shape[1]), one.shape)
    mixed = share * one + (1 - share) * two + noise.astype(np.float32)
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), np.float32)


def fill(memories: Path, beside: Path, count: int, encoder: QueryEncoder) -> Filled:
    """Write `count` memories, at most an eighth of them facts, into a new table in `memories`.
    Write the same rows, with the fast encoder's vectors, into the folder `beside` for other
    stores."""
    others, facts = said_and_asked()
    facts = facts[: max(1, count // 8)]
    both = [each for each in (encoder, encoder.stronger) if each is not None]
    real = [each.encode_documents([said for said, _ in facts]) for each in both]
    some = others[: min(SEEDS, max(64, count // 8))]
    seeds = [each.encode_documents(some) for each in both]
    encoder.rest()
    questions = {said: (at, question) for at, (said, question) in enumerate(facts)}
    planted: list[Fact] = []
    parts: list[Vectors] = []
    with ExitStack() as stack:
        table = MemoryTable.open(str(memories))
        stack.callback(table.close)
        for each, vectors in zip(both, real, strict=True):
            table.add_encoder(each.name, vectors.shape[1])
        texts = stack.enter_context((beside / "texts.jsonl").open("w", encoding="utf-8"))
        for number, batch in enumerate(made_up(count, [said for said, _ in facts], others)):
            made = [
                mixtures(each, len(batch), np.random.default_rng([SEED, number])) for each in seeds
            ]
            for row, memory in enumerate(batch):
                texts.write(json.dumps(memory.text) + "\n")
                if memory.text in questions:
                    at, question = questions[memory.text]
                    for vectors, exact in zip(made, real, strict=True):
                        vectors[row] = exact[at]
                    place = sum(map(len, parts)) + row
                    planted.append(Fact(memory.text, question, place, memory.id))
            table.add(batch, {each.name: made[at] for at, each in enumerate(both)})
            parts.append(made[0])
        table.compact()
    np.save(beside / "vectors.npy", np.concatenate(parts))
    return Filled(count, beside / "texts.jsonl", beside / "vectors.npy", tuple(planted))
