"""What a conversion can't take along is named, and stays; and what fails lets go of the home."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from assistant.compose.memory import build_rekeying
from assistant.encryption import conversion, keys
from assistant.encryption import vault as encryption
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.vault import open_vault
from assistant.errors import StoreError
from assistant.memory.store.repair import saving_marker
from assistant.paths import Home
from tests.support.homes import (
    CHEAP_ARGON2,
    PASSPHRASE,
    SAID,
    content,
    holds,
    knowing,
    quietly,
    settings,
    talk_in,
    whole,
)

ASK = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)


@pytest.fixture(autouse=True)
def cheap_argon2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)


@pytest.fixture
def plain(home: Home) -> Home:
    with closing(open_vault(home, settings("off"))) as vault:
        talk_in(home, vault)
    return home


def enable(home: Home) -> list[str]:
    told: list[str] = []
    build_rekeying(home, settings()).enable("passphrase", ASK, quietly, told.append)
    return told


def test_stores_that_were_set_aside_are_named_and_stay(plain: Home) -> None:
    shutil.copytree(plain.memories, plain.root / "memories.damaged-20260101-000000")
    shutil.copy(plain.transcript, plain.root / "transcript.sqlite3.damaged")

    told = enable(plain)

    assert told[-1].startswith("Files set aside as damaged were not encrypted")
    assert told[-1].endswith(": memories.damaged-20260101-000000, transcript.sqlite3.damaged")
    assert "transcript.sqlite3.damaged" in holds(plain.root, SAID)
    with closing(open_vault(plain, settings(), ASK)) as vault:
        assert whole(plain, vault)


def test_where_there_are_none_nothing_is_said_of_them(plain: Home) -> None:
    assert not any("set aside" in line for line in enable(plain))
    assert holds(plain.root, SAID) == []


def test_what_is_still_to_be_saved_is_saved_first(plain: Home) -> None:
    saving_marker(plain.memories).write_text("memories.damaged-20260101-000000\n")
    before = content(plain)
    with pytest.raises(StoreError, match="still have to be recovered") as told:
        enable(plain)
    assert str(told.value.mend).startswith("assistant memory list")
    assert content(plain) == before


def test_a_conversion_that_cannot_be_settled_keeps_no_lock(
    plain: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plain.root / conversion.UNFINISHED).mkdir()

    def refused(_: Path) -> None:
        raise OSError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refused)
        with pytest.raises(StoreError, match="can't be completed") as caught:
            open_vault(plain, settings(), encryption.ask_nobody)
    HomeLock(plain, alone=True).release()  # else it raises: somebody has the home
    assert caught.value.mend is not None
    with closing(open_vault(plain, settings())) as vault:
        assert whole(plain, vault)
