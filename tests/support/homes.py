"""Homes that contain data, for the tests of encryption."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from assistant.context.conversation import Conversation
from assistant.encryption import vault as encryption
from assistant.encryption.vault import SecretKind, Vault
from assistant.memory.store.table import MemoryTable
from assistant.memory.store.tombstones import Tombstones
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.memories import memory, rich, stored

PASSPHRASE = "correct horse"
WEEK = timedelta(days=7)
SAID = "Xylophone lessons began on Tuesday."
FORGOTTEN = "0123456789abcdef" * 2
"""The id of a forgotten exchange."""
CHEAP_ARGON2 = {"iterations": 1, "lanes": 1, "memory_kib": 64}


def settings(mode: str = "auto") -> Settings:
    return Settings.model_validate({"encryption": {"mode": mode}})


def knowing(**answers: str) -> encryption.AskSecret:
    def ask(question: SecretKind) -> str | None:
        return answers.get(question.replace(" ", "_"))

    return ask


def quietly(_: str) -> None:
    """A progress callback that shows nothing."""


def talk_in(home: Home, vault: Vault) -> None:
    """Store an exchange that ends now, memories with and without vectors, and a tombstone."""
    with closing(Transcript.open(home.transcript, vault.key)) as transcript:
        talk = Conversation.begin("ada")
        talk.append_user(1, SAID, datetime.now(UTC))
        transcript.store(talk, talk.complete(1, "How nice."))
    with closing(MemoryTable.open(str(home.memories), key=vault.key)) as table:
        table.add_encoder("e", 8)
        table.add([rich(SAID), memory(SAID, "bob")], {"e": np.eye(2, 8, dtype=np.float32)})
        table.add([memory("no vector", at=1)])
        table.forgotten.write([("ada", FORGOTTEN, True)], finished=True)


def whole(home: Home, vault: Vault) -> bool:
    """Whether everything that `talk_in` wrote is there."""
    with closing(Transcript.open(home.transcript, vault.key)) as transcript:
        resumed = transcript.resume("ada", WEEK)
        assert resumed is not None
        said = [exchange.user_text for exchange in resumed.exchanges]
    with closing(MemoryTable.open(str(home.memories), key=vault.key)) as table:
        words = [each.text for user in ("ada", "bob") for each in stored(table, user)]
        marked = table.forgotten.of("ada")
        [batch] = table.scan("ada", vectors=("e",))
        array, present = batch.vectors("e")
    assert marked == Tombstones(frozenset({FORGOTTEN}))
    np.testing.assert_allclose(array[present], [np.eye(2, 8)[0]], atol=1e-6)
    return said == [SAID] and words == [SAID, "no vector", SAID]


def holds(folder: Path, word: str) -> list[str]:
    """Names of the files that contain this word."""
    forms = [word.encode(), word.encode("utf-16-le")]
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


def content(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}
