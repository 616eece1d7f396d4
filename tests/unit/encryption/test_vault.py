"""Creating, opening, refusing and recovering a home with a key."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from assistant.compose.memory import build_rekeying
from assistant.encryption import conversion
from assistant.encryption import vault as encryption
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.encryption.rekeying import encryption_status
from assistant.encryption.vault import PASSPHRASE_VARIABLE, open_vault
from assistant.errors import SettingsError, StoreError, StoreInUse, StoreLocked
from assistant.memory.store.location import store_location
from assistant.memory.store.repair import open_store, saving_marker
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Memory
from tests.support.homes import (
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


@pytest.fixture
def locked(home: Home) -> str:
    """Protect the home by the passphrase; returns the recovery key."""
    ask = knowing(new_passphrase=PASSPHRASE)
    with closing(open_vault(home, settings("passphrase"), ask, create=True)) as vault:
        talk_in(home, vault)
    assert vault.recovery is not None
    return vault.recovery


# -- a new home ---------------------------------------------------------------------------------


def test_a_new_home_is_encrypted_if_there_is_a_keyring(home: Home, keyring: Path) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        assert vault.recovery is not None
        assert MasterKey.from_recovery(vault.recovery) == vault.key
        talk_in(home, vault)
    with closing(open_vault(home, settings(), create=True)) as again:
        assert again.recovery is None
        assert whole(home, again)
    assert holds(home.root, "Xylophone") == []
    assert vault.key is not None
    assert vault.key.secret.hex() not in keyring.read_text()


def test_without_a_keyring_a_new_home_is_unencrypted(home: Home) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        assert (vault.key, vault.recovery, vault.told) == (None, None, None)
        talk_in(home, vault)
        assert "transcript.sqlite3" in holds(home.root, "Xylophone")


def test_with_encryption_off_a_home_is_unencrypted_even_with_a_keyring(
    home: Home, keyring: Path
) -> None:
    with closing(open_vault(home, settings("off"), create=True)) as vault:
        assert vault.key is None
    assert not keyring.exists()


def test_a_locked_keyring_is_reported_and_the_home_stays_unencrypted(
    home: Home, keyring: Path
) -> None:
    keyring.write_text("locked")

    with closing(open_vault(home, settings(), create=True)) as vault:
        assert vault.key is None
        assert "unencrypted" in str(vault.told)
    with pytest.raises(StoreLocked, match="does not accept the key"):
        open_vault(home, settings("keyring"), create=True)


def test_a_short_passphrase_is_refused(home: Home) -> None:
    with pytest.raises(StoreLocked, match="fewer than 8"):
        open_vault(home, settings("passphrase"), knowing(new_passphrase="1234567"), create=True)
    assert not home.key_file.exists()


# -- without the key ----------------------------------------------------------------------------


def lose_entry(home: Home, keyring: Path) -> None:
    keyring.write_text("{}")


def lock_keyring(home: Home, keyring: Path) -> None:
    keyring.write_text("locked")


def other_entry(home: Home, keyring: Path) -> None:
    keyring.write_text(keyring.read_text().replace(": ", ": ").replace('"}', 'ff"}'))


def damage_key_file(home: Home, keyring: Path) -> None:
    home.key_file.write_bytes(home.key_file.read_bytes()[:-40])


def lose_key_file(home: Home, keyring: Path) -> None:
    home.key_file.unlink()


def key_file_of_another(home: Home, keyring: Path) -> None:
    encryption.lock_key(MasterKey.new(), "keyring", encryption.ask_nobody).write(home.key_file)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (lose_entry, "has no key for this data"),
        (lock_keyring, "does not return the key"),
        (other_entry, "is not the right one"),
        (damage_key_file, "is damaged"),
        (lose_key_file, "key file is missing"),
        (key_file_of_another, "does not open with this key"),
    ],
)
def test_without_the_key_nothing_is_changed_and_the_recovery_key_opens_the_home(
    home: Home, keyring: Path, fault: object, sentence: str
) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        talk_in(home, vault)
    assert callable(fault)
    fault(home, keyring)
    before = content(home)

    with pytest.raises(StoreLocked, match=sentence) as told:
        open_vault(home, settings(), create=True)
    assert content(home) == before
    assert "assistant encryption recover" in str(told.value.mend)

    if fault is lock_keyring:
        keyring.unlink()
    if fault is key_file_of_another:
        home.key_file.unlink()
    build_rekeying(home, settings()).recover(None, knowing(recovery_key=str(vault.recovery)))
    with closing(open_vault(home, settings())) as again:
        assert whole(home, again)


def test_a_wrong_passphrase_changes_nothing(
    home: Home, locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(home)
    with pytest.raises(StoreLocked, match="passphrase is not the right one"):
        open_vault(home, settings(), knowing(passphrase="correct horses"))
    with pytest.raises(StoreLocked, match="nobody to ask"):
        open_vault(home, settings())
    assert content(home) == before

    with closing(open_vault(home, settings(), knowing(passphrase=PASSPHRASE))) as vault:
        assert whole(home, vault)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, PASSPHRASE)
    open_vault(home, settings()).close()


def test_the_recovery_key_of_another_home_is_refused(
    home: Home, keyring: Path, locked: str
) -> None:
    before = content(home)
    other = knowing(recovery_key=MasterKey.new().recovery())
    with pytest.raises(StoreLocked, match="recovery key belongs to other data"):
        build_rekeying(home, settings()).recover(None, other)
    with closing(open_vault(home, settings(), knowing(passphrase=PASSPHRASE))):
        own = knowing(recovery_key=locked)
        with pytest.raises(StoreInUse):
            build_rekeying(home, settings()).recover(None, own)
    assert content(home) == before


def test_a_second_machine_needs_only_the_recovery_key(home: Home, locked: str) -> None:
    """The second machine shares the memories, but has its own home."""
    second = Home(home.root.parent / "second").create()
    ask = knowing(recovery_key=locked, new_passphrase="another one")

    assert build_rekeying(second, settings()).recover("passphrase", ask) == "passphrase"

    with closing(open_vault(second, settings(), knowing(passphrase="another one"))) as vault:
        shutil.copytree(home.memories, second.memories)
        shutil.copy(home.transcript, second.transcript)
        assert whole(second, vault)


def test_a_shared_store_opens_only_with_its_own_key(home: Home, locked: str, keyring: Path) -> None:
    """A second machine was used before it got the first machine's key."""
    second = Home(home.root.parent / "second").create()
    shared = settings().model_copy(update={"memory": Memory(store=str(home.memories))})
    with closing(open_vault(second, shared, create=True)) as vault:
        assert vault.key is None
        with closing(Transcript.open(second.transcript)):
            pass
        with pytest.raises(StoreLocked, match="encrypted and there is no key"):
            open_store(store_location(second, shared), print)
    with pytest.raises(SettingsError, match="outside the data folder"):
        build_rekeying(second, shared).enable(None, knowing(), print, print)
    before = content(second)
    other = knowing(recovery_key=MasterKey.new().recovery())
    with pytest.raises(StoreLocked, match="with another key"):
        build_rekeying(second, shared).recover(None, other)
    assert content(second) == before

    build_rekeying(second, shared).recover(None, knowing(recovery_key=locked))
    with closing(open_vault(second, shared)) as vault:
        open_store(store_location(second, shared, vault.key), print).close()
        Transcript.open(second.transcript, vault.key).close()
    with pytest.raises(SettingsError, match="outside the data folder"):
        build_rekeying(second, shared).disable(knowing(), print)


def test_the_encryption_status_of_a_home_is_reported(home: Home, keyring: Path) -> None:
    assert encryption_status(home).state == "empty"
    with closing(open_vault(home, settings(), create=True)) as vault:
        talk_in(home, vault)
    found = encryption_status(home)
    assert vault.key is not None
    assert (found.state, found.by, found.key_id) == ("encrypted", "keyring", vault.key.id)
    damage_key_file(home, keyring)
    assert encryption_status(home).state == "damaged"
    home.key_file.unlink()
    assert encryption_status(home).state == "missing"
    assert KeyFile.read(home.key_file) is None


# -- encrypting a plain home --------------------------------------------------------------------


@pytest.fixture
def plain(home: Home) -> Home:
    with closing(open_vault(home, settings("off"))) as vault:
        talk_in(home, vault)
    return home


def enable(home: Home) -> list[str]:
    told, ask = list[str](), knowing(new_passphrase=PASSPHRASE)
    build_rekeying(home, settings()).enable("passphrase", ask, quietly, told.append)
    return told


def test_stores_that_were_set_aside_are_named_and_left_unencrypted(plain: Home) -> None:
    shutil.copytree(plain.memories, plain.root / "memories.damaged-20260101-000000")
    shutil.copy(plain.transcript, plain.root / "transcript.sqlite3.damaged")

    told = enable(plain)

    assert told[-1].startswith("Damaged files set aside were not encrypted")
    assert ": memories.damaged-20260101-000000, transcript.sqlite3.damaged. " in told[-1]
    assert "transcript.sqlite3.damaged" in holds(plain.root, SAID)
    with closing(open_vault(plain, settings(), knowing(passphrase=PASSPHRASE))) as vault:
        assert whole(plain, vault)


def test_without_files_set_aside_none_are_mentioned(plain: Home) -> None:
    assert not any("set aside" in line for line in enable(plain))
    assert holds(plain.root, SAID) == []


def test_damaged_memories_have_to_be_recovered_first(plain: Home) -> None:
    saving_marker(plain.memories).write_text("memories.damaged-20260101-000000\n")
    before = content(plain)
    with pytest.raises(StoreError, match="still have to be recovered") as told:
        enable(plain)
    assert str(told.value.mend).endswith("assistant memory list")
    assert content(plain) == before


def test_a_conversion_that_can_not_be_completed_releases_its_lock(
    plain: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plain.root / conversion.UNFINISHED).mkdir()

    def refused(_: Path) -> None:
        raise OSError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refused)
        with pytest.raises(StoreError, match="can't be completed") as caught:
            open_vault(plain, settings(), encryption.ask_nobody)
    HomeLock(plain, alone=True).release()  # raises if the home is still locked
    assert caught.value.mend is not None
    with closing(open_vault(plain, settings())) as vault:
        assert whole(plain, vault)
