"""A home with a key: made, opened, refused, converted, recovered."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from assistant import conversion, encryption, rekeying
from assistant.context.conversation import Conversation
from assistant.encryption import PASSPHRASE_VARIABLE, Question, Vault, open_vault
from assistant.errors import SettingsError, StoreError, StoreInUse, StoreLocked
from assistant.memory import keys
from assistant.memory.keys import By, KeyFile, MasterKey
from assistant.memory.table import MemoryTable
from assistant.memory.transcript import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from tests.support import keyrings
from tests.support.memories import NOW, memory, rich, stored

ROOT = Path(__file__).resolve().parents[2]
PASSPHRASE = "correct horse"
WEEK = timedelta(days=7)
SAID = "Xylophone lessons began on Tuesday."


@pytest.fixture(autouse=True)
def cheap_argon2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "ARGON2", {"iterations": 1, "lanes": 1, "memory_kib": 64})


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """There is a keyring; its file."""
    file = tmp_path / "keyring.json"
    for name, value in keyrings.environment(file).items():
        monkeypatch.setenv(name, value)
    return file


def settings(mode: str = "auto") -> Settings:
    return Settings.model_validate({"encryption": {"mode": mode}})


def knowing(**answers: str) -> encryption.Ask:
    def ask(question: Question) -> str | None:
        return answers.get(question.replace(" ", "_"))

    return ask


def quietly(_: str) -> None:
    """Nobody watches."""


def talk_in(home: Home, vault: Vault) -> None:
    """An exchange, and memories with and without vectors."""
    with closing(Transcript.open(home.transcript, vault.key)) as transcript:
        talk = Conversation.begin("ada")
        talk.append_user(1, SAID, NOW)
        transcript.store(talk, talk.complete(1, "How nice."))
    with closing(MemoryTable.open(str(home.memories), key=vault.key)) as table:
        table.add_encoder("e", 8)
        table.add([rich(SAID), memory(SAID, "bob")], {"e": np.eye(2, 8, dtype=np.float32)})
        table.add([memory("no vector", at=1)])


def whole(home: Home, vault: Vault) -> bool:
    """All that `talk_in` wrote is there."""
    with closing(Transcript.open(home.transcript, vault.key)) as transcript:
        resumed = transcript.resume("ada", WEEK, NOW)
        assert resumed is not None
        said = [exchange.user_text for exchange in resumed.exchanges]
    with closing(MemoryTable.open(str(home.memories), key=vault.key)) as table:
        words = [each.text for user in ("ada", "bob") for each in stored(table, user)]
        [batch] = table.scan("ada", vectors=("e",))
        array, present = batch.vectors("e")
    np.testing.assert_allclose(array[present], [np.eye(2, 8)[0]], atol=1e-6)
    return said == [SAID] and words == [SAID, "no vector", SAID]


def holds(folder: Path, word: str) -> list[str]:
    """Files with these bytes."""
    forms = [word.encode(), word.encode("utf-16-le")]
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


def content(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}


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


@pytest.fixture
def locked(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A home behind the passphrase; its recovery key."""
    ask = knowing(new_passphrase=PASSPHRASE)
    with closing(open_vault(home, settings("passphrase"), ask, create=True)) as vault:
        talk_in(home, vault)
        assert vault.recovery is not None
        yield vault.recovery


# -- a new home ---------------------------------------------------------------------------------


def test_a_new_home_is_encrypted_where_there_is_a_keyring(home: Home, keyring: Path) -> None:
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


def test_without_a_keyring_it_is_plain(home: Home) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        assert (vault.key, vault.recovery, vault.told) == (None, None, None)
        talk_in(home, vault)
        assert "transcript.sqlite3" in holds(home.root, "Xylophone")


def test_off_is_off_where_there_is_a_keyring(home: Home, keyring: Path) -> None:
    with closing(open_vault(home, settings("off"), create=True)) as vault:
        assert vault.key is None
    assert not keyring.exists()


def test_a_keyring_that_stays_locked_is_told_and_stops_nobody(home: Home, keyring: Path) -> None:
    keyring.write_text("locked")

    with closing(open_vault(home, settings(), create=True)) as vault:
        assert vault.key is None
        assert "unencrypted" in str(vault.told)
    with pytest.raises(StoreLocked, match="does not take the key"):
        open_vault(home, settings("keyring"), create=True)


def test_a_short_passphrase_is_refused(home: Home) -> None:
    with pytest.raises(StoreLocked, match="fewer than 8"):
        open_vault(home, settings("passphrase"), knowing(new_passphrase="1234567"), create=True)
    assert not home.key_file.exists()


def test_plain_data_is_not_taken_for_encrypted(plain: Home, keyring: Path) -> None:
    with closing(open_vault(plain, settings("auto"), create=True)) as vault:
        assert vault.key is None
    with pytest.raises(StoreLocked, match="is plain") as told:
        open_vault(plain, settings("keyring"), create=True)
    assert told.value.mend == "assistant encryption enable"


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
    encryption.locked_by(MasterKey.new(), "keyring", encryption.nobody).write(home.key_file)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (lose_entry, "holds no key of this data"),
        (lock_keyring, "does not give the key"),
        (other_entry, "is not the right one"),
        (damage_key_file, "is damaged"),
        (lose_key_file, "key file is missing"),
        (key_file_of_another, "does not open with this key"),
    ],
)
def test_without_the_key_nothing_is_touched_and_the_recovery_key_mends_it(
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
    rekeying.recover(home, settings(), None, knowing(recovery_key=str(vault.recovery)))
    with closing(open_vault(home, settings())) as again:
        assert whole(home, again)


def test_a_wrong_passphrase_touches_nothing(
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


def test_another_recovery_key_is_refused(home: Home, keyring: Path, locked: str) -> None:
    before = content(home)
    other = knowing(recovery_key=MasterKey.new().recovery())
    with pytest.raises(StoreInUse):
        rekeying.recover(home, settings(), None, other)
    assert content(home) == before


def test_a_second_machine_needs_the_recovery_key_alone(home: Home, locked: str) -> None:
    """It shares the memories, and has a home of its own."""
    second = Home(home.root.parent / "second").create()
    ask = knowing(recovery_key=locked, new_passphrase="another one")

    assert rekeying.recover(second, settings(), "passphrase", ask) == "passphrase"

    with closing(open_vault(second, settings(), knowing(passphrase="another one"))) as vault:
        shutil.copytree(home.memories, second.memories)
        shutil.copy(home.transcript, second.transcript)
        assert whole(second, vault)


# -- conversions --------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["keyring", "passphrase"])
def test_there_and_back_again(plain: Home, keyring: Path, by: By) -> None:
    ask = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)

    key = rekeying.enable(plain, settings(), by, ask, quietly)

    assert holds(plain.root, "Xylophone") == []
    with closing(open_vault(plain, settings(), ask)) as vault:
        assert vault.key == key
        assert whole(plain, vault)
    with pytest.raises(SettingsError, match="encrypted already"):
        rekeying.enable(plain, settings(), by, ask, quietly)

    rekeying.disable(plain, ask, quietly)

    assert not plain.key_file.exists()
    assert key.id not in (keyring.read_text() if keyring.exists() else "")
    with closing(open_vault(plain, settings())) as vault:
        assert vault.key is None
        assert whole(plain, vault)
    with pytest.raises(SettingsError, match="not encrypted"):
        rekeying.disable(plain, ask, quietly)


def test_a_home_in_use_is_not_converted(plain: Home, keyring: Path) -> None:
    with (
        closing(open_vault(plain, settings())),
        pytest.raises(StoreInUse, match="in use by another assistant"),
    ):
        rekeying.enable(plain, settings(), None, encryption.nobody, quietly)


def test_another_passphrase(home: Home, keyring: Path) -> None:
    with closing(open_vault(home, settings(), create=True)) as vault:
        talk_in(home, vault)
    rekeying.change_passphrase(home, knowing(new_passphrase=PASSPHRASE))
    assert keyring.read_text() == "{}"
    rekeying.change_passphrase(
        home, knowing(passphrase=PASSPHRASE, new_passphrase="a better passphrase")
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
def test_a_conversion_that_ends_anywhere_is_all_or_nothing(
    plain: Home, monkeypatch: pytest.MonkeyPatch, back: bool, step: str, name: str
) -> None:
    """As if killed right before each step that others see."""
    ask = knowing(new_passphrase=PASSPHRASE, passphrase=PASSPHRASE)
    if back:
        rekeying.enable(plain, settings(), "passphrase", ask, quietly)
    enable = partial(rekeying.enable, plain, settings(), "passphrase", ask, quietly)
    change = partial(rekeying.disable, plain, ask, quietly) if back else enable
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
            patch.setattr(conversion.shutil, step, leave)
        else:
            patch.setattr(Path, step, killed)
        with pytest.raises(KeyboardInterrupt):
            change()
    assert conversion.unsettled(plain) or name == conversion.FINISHED

    with closing(open_vault(plain, settings(), ask)) as vault:
        assert whole(plain, vault)
        counts = (step, name) != THERE[0]
        assert (vault.key is not None) is (counts is not back)
        assert not conversion.unsettled(plain)
        assert vault.key is None or holds(plain.root, "Xylophone") == []


CONVERTER = """
import sys
from pathlib import Path
from assistant import rekeying
from assistant.memory import keys
from assistant.paths import Home
from assistant.settings import Settings
keys.ARGON2 = {"iterations": 1, "lanes": 1, "memory_kib": 64}
print("ready", flush=True)
rekeying.enable(Home(Path(sys.argv[1])), Settings(), "passphrase", lambda _: "correct horse", print)
"""


def test_a_conversion_that_is_really_killed(plain: Home) -> None:
    """While it copies the memories."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", CONVERTER, str(plain.root)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("The memories"):
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert conversion.unsettled(plain)

    with closing(open_vault(plain, settings())) as vault:
        assert vault.key is None
        assert whole(plain, vault)
    assert not conversion.unsettled(plain)


def test_a_copy_that_differs_is_thrown_away(plain: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTable, "add", lambda *_: None)
    before = content(plain)

    with pytest.raises(StoreError, match="copy differs"):
        rekeying.enable(
            plain, settings(), "passphrase", knowing(new_passphrase=PASSPHRASE), quietly
        )

    monkeypatch.undo()
    kept = {path: data for path, data in content(plain).items() if ".new" not in path.name}
    assert kept.keys() == before.keys()
    with closing(open_vault(plain, settings())) as vault:
        assert whole(plain, vault)


def test_the_state_of_a_home(home: Home, keyring: Path) -> None:
    assert rekeying.status(home).state == "empty"
    with closing(open_vault(home, settings(), create=True)) as vault:
        talk_in(home, vault)
    found = rekeying.status(home)
    assert vault.key is not None
    assert (found.state, found.by, found.key_id) == ("encrypted", "keyring", vault.key.id)
    damage_key_file(home, keyring)
    assert rekeying.status(home).state == "damaged"
    home.key_file.unlink()
    assert rekeying.status(home).state == "missing"
    assert KeyFile.read(home.key_file) is None
