"""The key of a home, and the file that holds this key encrypted."""

import dataclasses
import json
from pathlib import Path

import pytest

from assistant.encryption import keys
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.errors import StoreLocked

FIXED = MasterKey(bytes(range(32)))
RECOVERY = "AAAQ-EAYE-AUDA-OCAJ-BIFQ-YDIO-B4IB-CEQT-CQKR-MFYY-DENB-WHA5-DYP7-USSQ"
ONE_WRONG_LETTER = [
    RECOVERY[:at] + ("B" if letter == "A" else "A") + RECOVERY[at + 1 :]
    for at, letter in enumerate(RECOVERY)
    if letter != "-"
]


def test_derived_keys_never_change() -> None:
    """Otherwise, old data could not be decrypted any more."""
    assert FIXED.id == "d6d38a652a97e8fc"
    assert FIXED.derive("transcript").hex() == (
        "9acf6d9958843c08a1a3da4d18f07b0fb76f74910855146a3602f7dc4ff034d9"
    )
    assert FIXED.recovery() == RECOVERY


def test_the_repr_of_a_key_does_not_show_the_secret() -> None:
    assert FIXED.secret.hex() not in repr(FIXED)
    assert str(FIXED.secret) not in repr(FIXED)


def test_a_recovery_key_may_be_typed_in_any_form() -> None:
    printed = MasterKey.new().recovery()
    key = MasterKey.from_recovery(printed)

    assert key.recovery() == printed
    assert MasterKey.from_recovery(f" {printed.lower().replace('-', ' ')}\n") == key


@pytest.mark.parametrize(
    "wrong", ["", "ABCD", RECOVERY[:-1], "1" + RECOVERY[1:], *ONE_WRONG_LETTER]
)
def test_a_mistyped_recovery_key_is_refused(wrong: str) -> None:
    with pytest.raises(StoreLocked, match="not a recovery key"):
        MasterKey.from_recovery(wrong)


@pytest.mark.parametrize("by", ["keyring", "passphrase"])
def test_only_the_secret_opens_the_file(tmp_path: Path, by: keys.KeyProtection) -> None:
    path = tmp_path / "encryption.json"
    KeyFile.locked(FIXED, by, "correct horse").write(path)
    read = KeyFile.read(path)

    assert read is not None
    assert read.unlock("correct horse") == FIXED
    with pytest.raises(StoreLocked, match="not the right one"):
        read.unlock("correct horse ")
    assert path.stat().st_mode & 0o077 == 0
    assert FIXED.secret.hex() not in path.read_text()


def test_the_fields_of_a_key_file_are_authenticated() -> None:
    mine = KeyFile.locked(FIXED, "passphrase", "correct horse")
    for changed in (
        dataclasses.replace(mine, id="0" * 16),
        dataclasses.replace(mine, salt=bytes(16)),
        dataclasses.replace(mine, argon2=(2, 1, 64)),
    ):
        with pytest.raises(StoreLocked):
            changed.unlock("correct horse")


def test_a_damaged_key_file_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "encryption.json"
    KeyFile.locked(FIXED, "passphrase", "correct horse").write(path)
    whole = json.loads(path.read_text())
    lock = whole["lock"]
    broken = [
        {},
        [],
        whole | {"lock": None},
        whole | {"version": "one"},
        whole | {"id": 7},
        whole | {"lock": lock | {"by": "prayer"}},
        whole | {"lock": lock | {"key": lock["key"][:-2]}},
        whole | {"lock": lock | {"nonce": "zz"}},
        whole | {"lock": lock | {"memory_kib": 1 << 40}},
        whole | {"lock": lock | {"memory_kib": 1}},
        whole | {"lock": lock | {"iterations": 0}},
    ]
    contents = [json.dumps(each).encode() for each in broken] + [b"", b"\xff\xfe", b"{"]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(StoreLocked, match="is damaged; nothing was touched") as told:
            KeyFile.read(path)
        assert "assistant encryption recover" in str(told.value.mend)


def test_a_missing_or_newer_key_file_is_not_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "encryption.json"
    assert KeyFile.read(path) is None
    path.write_text('{"version": 2}')

    with pytest.raises(StoreLocked, match="newer version"):
        KeyFile.read(path)
