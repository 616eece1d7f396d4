"""Measures the cost of encryption at rest by doing everything alternately plain and encrypted."""

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from assistant.context.conversation import Conversation
from assistant.encryption import system_keyring
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.encryption.vault import ask_nobody, open_vault
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from models.download.disk import folder_bytes
from scripts.bench.filling import USER, made_up, mixtures, said_and_asked
from scripts.common.program import Figures
from scripts.common.statistics import summary

ENCODER = "made-up"
PASSPHRASE = "correct horse battery staple"
WARM_UP = 20
ROUNDS = 2
"""Number of times that loading is measured; the shortest time counts."""
QUERIES = 50
Sides = Mapping[str, MasterKey | None]


def storing(folder: Path, sides: Sides, count: int) -> Figures:
    """The time to store and commit an exchange, alternately plain and encrypted."""
    opened = {name: Transcript.open(folder / f"{name}.db", key) for name, key in sides.items()}
    times: defaultdict[str, list[float]] = defaultdict(list)
    for turn in range(1, WARM_UP + count + 1):
        for name, transcript in opened.items():
            talk = Conversation.begin(USER)
            said = f"My friend number {turn} has moved to Lisbon, and likes it there very much."
            talk.append_user(turn, said, datetime.now(UTC))
            exchange = talk.complete(turn, "How nice. Have you been there to see her?")
            began, cpu = time.perf_counter(), time.thread_time()
            transcript.store(talk, exchange)
            times[name].append(1000 * (time.perf_counter() - began))
            times[f"{name}_cpu"].append(1000 * (time.thread_time() - cpu))
    for transcript in opened.values():
        transcript.close()
    return {f"{name}_ms": summary(each[WARM_UP:]) for name, each in times.items()}


def adding(tables: Mapping[str, MemoryTable], dimensions: int, count: int) -> Figures:
    """The time to add the two memories of an exchange, and then their vectors."""
    times: dict[str, list[float]] = {name: [] for name in tables}
    random = np.random.default_rng(5)
    for turn in range(1, count + 1):
        for name, table in tables.items():
            talk = Conversation.begin(USER)
            talk.append_user(turn, f"My friend number {turn} has moved.", datetime.now(UTC))
            memories = materialize_exchange(USER, talk.id, talk.complete(turn, "How nice."))
            vectors = random.normal(size=(len(memories), dimensions)).astype(np.float32)
            began = time.perf_counter()
            table.add(memories)
            table.set_vectors(USER, ENCODER, [memory.id for memory in memories], vectors)
            times[name].append(1000 * (time.perf_counter() - began))
    return {f"{name}_ms": summary(each) for name, each in times.items()}


def loading(folder: Path, sides: Sides, rows: int, dimensions: int) -> Figures:
    said, _ = said_and_asked()
    random = np.random.default_rng(7)
    seeds = random.normal(size=(500, dimensions)).astype(np.float32)
    found: Figures = {}
    tables: dict[str, MemoryTable] = {}
    for name, key in sides.items():
        tables[name] = MemoryTable.open(str(folder / name), key=key)
        tables[name].add_encoder(ENCODER, dimensions)
    for batch in made_up(rows, (), said):
        vectors = mixtures(seeds, len(batch), random)
        for table in tables.values():
            table.add(batch, {ENCODER: vectors})
    indexes: dict[str, UserIndex] = {}
    for table in tables.values():
        table.compact()
    for _ in range(ROUNDS):
        for name, table in tables.items():
            index = UserIndex(USER, TextAnalyzer("en"), dimensions, Ranking())
            took, cpu = timed(partial(load, table, index))
            best = found.setdefault(name, {"load_s": took, "cpu_s": cpu})
            best |= {"load_s": min(took, best["load_s"]), "cpu_s": min(cpu, best["cpu_s"])}
            best["disk_mb"] = round(folder_bytes(folder / name) / 1e6, 1)
            indexes[name] = index
    asked = mixtures(seeds, QUERIES, random)
    plain, sealed = (
        [set(index.nearest(vector, 10)) for vector in asked] for index in indexes.values()
    )
    same = sum(len(a & b) for a, b in zip(plain, sealed, strict=True)) / (10 * QUERIES)
    found["same"] = round(same, 4)
    found["adding"] = adding(tables, dimensions, 60)
    for table in tables.values():
        table.close()
    return found


def load(table: MemoryTable, index: UserIndex) -> None:
    index.load(table.scan(USER, vectors=(ENCODER,)), ENCODER)


def opening(folder: Path, key: MasterKey) -> Figures:
    """The time to open a home without encryption and with a passphrase, to find the keyring, and to
    unlock the key file with a secret that the keyring has already given."""
    home = Home(folder / "home").create()
    settings = Settings()
    found: Figures = {"plain_s": timed(lambda: open_vault(home, settings, ask_nobody).close())[0]}
    KeyFile.locked(key, "passphrase", PASSPHRASE).write(home.key_file)
    vault = partial(open_vault, home, settings, lambda _: PASSPHRASE)
    found["passphrase_s"] = timed(lambda: vault().close())[0]
    found["finding_a_keyring_s"] = timed(system_keyring.find_keyring)[0]
    entry = KeyFile.locked(key, "keyring", "0" * 64)
    found["keyring_s"] = timed(lambda: entry.unlock("0" * 64))[0]
    return found


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds that `act` takes: wall-clock time and processor time."""
    began, cpu = time.perf_counter(), time.process_time()
    act()
    return round(time.perf_counter() - began, 4), round(time.process_time() - cpu, 4)


def measured_once(exchanges: int) -> Figures:
    """Measure storing and opening, which don't depend on the number of memories."""
    key = MasterKey.new()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        stored = storing(folder, {"plain": None, "encrypted": key}, exchanges)
        return {"storing": stored, "opening": opening(folder, key)}


def measured(rows: int, dimensions: int) -> Figures:
    """Measure loading and adding, with `rows` memories."""
    with tempfile.TemporaryDirectory() as place:
        sides = {"plain": None, "encrypted": MasterKey.new()}
        return loading(Path(place), sides, rows, dimensions)
