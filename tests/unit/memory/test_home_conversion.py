"""Encrypting a home and decrypting it again, even if either is interrupted."""

import shutil
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from assistant.compose.memory import build_rekeying
from assistant.encryption import conversion, keys
from assistant.encryption import vault as encryption
from assistant.encryption.keys import KeyProtection
from assistant.encryption.vault import open_vault
from assistant.errors import SettingsError, StoreError, StoreInUse, StoreLocked
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.children import Say, child
from tests.support.homes import (
    CHEAP_ARGON2,
    PASSPHRASE,
    content,
    holds,
    knowing,
    quietly,
    settings,
    talk_in,
    whole,
)


@pytest.fixture(autouse=True)
def cheap_argon2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ARGON2", CHEAP_ARGON2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain home, to be copied."""
    home = Home(tmp_path_factory.mktemp("made") / "home")
    with closing(open_vault(home, settings("off"))) as vault:
        talk_in(home, vault)
    return home.root


@pytest.fixture
def plain(home: Home, made: Path) -> Home:
    shutil.copytree(made, home.root, dirs_exist_ok=True)
    return home


# -- conversions --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["keyring", "passphrase"])
def test_a_home_is_encrypted_and_decrypted(plain: Home, keyring: Path, by: KeyProtection) -> None:
    ask = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)
    shown: list[str] = []

    key = build_rekeying(plain, settings()).enable(by, ask, shown.append, quietly)

    assert shown == [key.recovery()]
    assert holds(plain.root, "Xylophone") == []
    with closing(open_vault(plain, settings(), ask)) as vault:
        assert vault.key == key
        assert whole(plain, vault)
    with pytest.raises(SettingsError, match="already encrypted"):
        build_rekeying(plain, settings()).enable(by, ask, shown.append, quietly)

    build_rekeying(plain, settings()).disable(ask, quietly)

    assert not plain.key_file.exists()
    assert key.id not in (keyring.read_text() if keyring.exists() else "")
    with closing(open_vault(plain, settings())) as vault:
        assert vault.key is None
        assert whole(plain, vault)
    with pytest.raises(SettingsError, match="not encrypted"):
        build_rekeying(plain, settings()).disable(ask, quietly)


def test_a_home_in_use_is_not_converted(plain: Home, keyring: Path) -> None:
    with (
        closing(open_vault(plain, settings())),
        pytest.raises(StoreInUse, match="in use by another assistant"),
    ):
        build_rekeying(plain, settings()).enable(None, encryption.ask_nobody, quietly, quietly)


def test_the_passphrase_can_be_changed(home: Home, keyring: Path) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        talk_in(home, vault)
    build_rekeying(home, settings()).change_passphrase(knowing(new_passphrase=PASSPHRASE))
    assert keyring.read_text() == "{}"
    build_rekeying(home, settings()).change_passphrase(
        knowing(passphrase=PASSPHRASE, new_passphrase="a better passphrase")
    )

    with closing(open_vault(home, settings(), knowing(passphrase="a better passphrase"))) as again:
        assert again.key == vault.key
        assert whole(home, again)


THERE = (
    ("rename", conversion.FINISHED),
    ("replace", "transcript.sqlite3"),
    ("rename", "memories"),
    ("replace", "encryption.json"),
    ("unlink", conversion.PLAN),
    ("rmtree", "memories"),
)
BACK = (("rename", "memories"), ("unlink", "encryption.json"), ("unlink", conversion.PLAN))


@pytest.mark.parametrize(
    ("back", "step", "name"), [*((False, *at) for at in THERE), *((True, *at) for at in BACK)]
)
def test_an_interrupted_conversion_is_all_or_nothing(
    plain: Home, keyring: Path, monkeypatch: pytest.MonkeyPatch, back: bool, step: str, name: str
) -> None:
    """As if killed right before each step that is visible from outside."""
    ask = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)
    if back:
        build_rekeying(plain, settings()).enable(None, ask, quietly, quietly)
    enable = partial(build_rekeying(plain, settings()).enable, None, ask, quietly, quietly)
    change = partial(build_rekeying(plain, settings()).disable, ask, quietly) if back else enable
    known = getattr(Path, step, None)

    def killed(path: Path, *arguments: object, **more: object) -> object:
        target = Path(str(arguments[0])) if arguments else path
        if target.name == name and conversion.UNFINISHED not in target.parts:
            raise KeyboardInterrupt
        assert known is not None
        return known(path, *arguments, **more)

    def leave(_folder: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if step == "rmtree":
            patch.setattr(shutil, step, leave)
        else:
            patch.setattr(Path, step, killed)
        with pytest.raises(KeyboardInterrupt):
            change()
    assert conversion.is_unfinished(plain) or name == conversion.FINISHED

    with closing(open_vault(plain, settings(), ask)) as vault:
        assert whole(plain, vault)
        counts = (step, name) != THERE[0]
        assert (vault.key is not None) is (counts is not back)
        assert not conversion.is_unfinished(plain)
        assert vault.key is None or holds(plain.root, "Xylophone") == []
        # The keyring has no key without data, and above all no data lacks its key there.
        assert back or (keyring.read_text() == "{}") is (vault.key is None)


def convert(home: Home, say: Say) -> None:
    keys.ARGON2 = CHEAP_ARGON2
    build_rekeying(home, Settings()).enable("passphrase", lambda _: "correct horse", quietly, say)


def test_a_killed_conversion_changes_nothing(plain: Home) -> None:
    """The kill comes while the memories are copied."""
    with child(convert, plain) as dying:
        while not dying.hear().startswith("The memories"):
            assert dying.process.is_alive()
        dying.kill_in(0)
        assert dying.ended() == -signal.SIGKILL
    assert conversion.is_unfinished(plain)

    with closing(open_vault(plain, settings())) as vault:
        assert vault.key is None
        assert whole(plain, vault)
    assert not conversion.is_unfinished(plain)


def test_a_copy_that_differs_is_discarded(plain: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(plain)
    ask = knowing(new_passphrase=PASSPHRASE)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryTable, "add", lambda *_: None)
        with pytest.raises(StoreError, match="copy of the memories differs"):
            build_rekeying(plain, settings()).enable("passphrase", ask, quietly, quietly)

    assert content(plain).keys() == before.keys()
    with closing(open_vault(plain, settings())) as vault:
        assert whole(plain, vault)


def test_unencrypted_data_is_not_taken_for_encrypted(plain: Home, keyring: Path) -> None:
    with closing(open_vault(plain, settings("auto"), create=True)) as vault:
        assert vault.key is None
    with pytest.raises(StoreLocked, match="is not encrypted") as refused:
        open_vault(plain, settings("keyring"), create=True)
    assert refused.value.mend == "assistant encryption enable"
