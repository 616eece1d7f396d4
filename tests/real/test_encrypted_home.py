"""The bytes of an encrypted home's files contain no word of a conversation held there."""

import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from assistant.compose.memory import build_rekeying
from assistant.encryption.vault import ask_nobody, open_vault
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from assistant.settings import Settings
from tests.support import keyrings
from tests.support.model_server import model_server
from tests.support.talking import Row, Talk

pytestmark = pytest.mark.real

TALKING = {
    "ASSISTANT_MEMORY__ENABLED": "true",
    "ASSISTANT_GENERAL__USER": "me",
}
RARE = ("Zyzzyvax", "quixotry", "Brobdingnag")
SAID = "My ferret Zyzzyvax lives in Brobdingnag and loves quixotry."
ASKED = "Where does Zyzzyvax live?"
ANSWER = "Ferrets sleep most of the day, I hear."
TINY = ("--profile", "tiny")


def traces(home: Home, words: tuple[str, ...], vectors: list[bytes]) -> dict[str, set[str]]:
    """The files that contain one of the words, in any usual encoding, or one of the vectors."""
    found: dict[str, set[str]] = {}
    for path in home.root.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        lower = data.lower()
        for word in words:
            low = word.lower()
            if any(low.encode(form) in lower for form in ("utf-8", "utf-16-le", "utf-16-be")):
                found.setdefault(word, set()).add(path.name)
        if any(vector in data for vector in vectors):
            found.setdefault("a vector", set()).add(path.suffix)
    return found


def vectors_of(home: Home, settings: Settings) -> list[bytes]:
    with (
        closing(open_vault(home, settings)) as vault,
        closing(MemoryTable.open(str(home.memories), key=vault.key)) as table,
    ):
        encoders = tuple(table.encoders())
        [batch] = table.scan("me", vectors=encoders)
        array, present = batch.vectors(encoders[0])
    # Rotating back and forth changes the last digits: the control must search for stored vectors.
    return [row.astype(np.float32).tobytes()[:64] for row in array[present]]


def talked(home: Home, environment: dict[str, str]) -> list[Row]:
    """The turns of two sessions, in which one recalls what was said in the other."""
    with Talk(home.root, *TINY, "--text", env=environment) as talk:
        talk.wait_for("memories")
        talk.say(SAID)
        talk.say(f"/{RARE[0]}")
        talk.end_input()
        assert talk.finish() == 0
        turns = talk.of("turn")
        assert talk.process.stderr is not None
        assert "recovery key" in talk.process.stderr.read()
    with Talk(home.root, *TINY, "--text", env=environment) as talk:
        assert talk.wait_for("memories")["count"] >= 2
        talk.say(ASKED)
        talk.end_input()
        assert talk.finish() == 0
        return turns + talk.of("turn")


def test_no_file_contains_a_word_or_a_vector(home: Home, keyring: Path) -> None:
    with model_server(lambda _newest: ANSWER) as endpoint:
        server = {"ASSISTANT_LLM__ENDPOINT": endpoint}
        turns = talked(home, TALKING | server | keyrings.environment(keyring))
    assert len(turns) == 2
    heard = tuple(turn["user"] for turn in turns)
    assert heard == (SAID, ASKED)
    assert {turn["assistant"] for turn in turns} == {ANSWER}
    words = (*RARE, *heard, ANSWER)

    vectors = vectors_of(home, Settings())
    assert len(vectors) >= 3
    assert traces(home, words, vectors) == {}
    transcript = home.transcript.read_bytes()
    assert len(zlib.compress(transcript)) > 0.99 * len(transcript)

    # As a control, the same data is decrypted: then all of it is found.
    build_rekeying(home, Settings()).disable(ask_nobody, lambda _: None)
    found = traces(home, words, vectors_of(home, Settings()))
    assert found.keys() == {*words, "a vector"}
    assert all("transcript.sqlite3" in found[word] for word in words)
    assert found["a vector"] == {".lance"}
