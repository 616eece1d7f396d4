"""`assistant encryption …` as a user types it."""

import json
from pathlib import Path

import pytest

from assistant.encryption.vault import NEW_PASSPHRASE_VARIABLE, PASSPHRASE_VARIABLE
from assistant.paths import Home
from tests.support.command_line import Run, objects
from tests.support.homes import CHEAP_ARGON2

RARE = "Zyzzyvax"


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.encryption.keys.ARGON2", CHEAP_ARGON2)


def test_the_recovery_key_is_shown_once_and_recovers_the_data(run: Run, keyring: Path) -> None:
    code, _, err = run("memory", "add", f"My ferret is called {RARE}.")
    assert code == 0
    recovery = "".join(line.strip() + "-" for line in err if line.startswith("    "))
    assert run("memory", "list")[2] == []

    keyring.write_text("{}")
    code, out, err = run("memory", "list")
    assert (code, out) == (5, [])
    assert err[0] == "The system's keyring has no key for this data; nothing was touched."
    assert "assistant encryption recover" in err[1]

    code, out, _ = run("encryption", "recover", typed=f"{recovery}\n")
    assert (code, out) == (0, ["Recovered; from now on, the system's keyring unlocks your data."])
    assert RARE in "".join(run("memory", "list")[1])


def test_encryption_is_enabled_shown_changed_and_disabled(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "add", f"My ferret is called {RARE}.")
    assert run("encryption", "status")[1] == [
        "Your data is not encrypted.",
        "→ assistant encryption enable",
    ]
    code, out, err = run("encryption", "enable")
    assert (code, out) == (5, [])
    assert PASSPHRASE_VARIABLE in "".join(err)

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    code, out, _ = run("encryption", "enable", "--json")
    row, last = objects(out)
    assert (code, row["event"], last) == (0, "recovery", {"event": "encrypted"})
    [status] = objects(run("encryption", "status", "--json")[1])
    assert (status["state"], status["by"], status["keyring"]) == ("encrypted", "passphrase", None)
    assert row["recovery_key"] not in home.key_file.read_text()
    assert RARE in "".join(run("memory", "list")[1])

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "wrong horse")
    code, out, err = run("memory", "list", "--json")
    assert (code, json.loads(out[0])["message"]) == (5, err[0])
    assert err[0].startswith("The passphrase is not the right one")

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    code, _, err = run("encryption", "change-passphrase")
    assert (code, NEW_PASSPHRASE_VARIABLE in "".join(err)) == (5, True)
    monkeypatch.setenv(NEW_PASSPHRASE_VARIABLE, "a better horse")
    assert run("encryption", "change-passphrase")[0] == 0
    assert run("memory", "list")[0] == 5
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "a better horse")
    assert [run("encryption", "disable")[0] for _ in range(2)] == [0, 2]
    assert RARE in "".join(run("memory", "list")[1])


def test_the_arguments_of_a_failing_command_are_not_logged(run: Run, home: Home) -> None:
    for words in (
        ("memory", "show", f"{RARE}"),
        ("memory", "show", f"{RARE} is my ferret"),
        ("memory", "list", f"{RARE}"),
        ("memory", f"{RARE}"),
        ("memory", "edit", RARE, RARE),
    ):
        code, _, err = run(*words)
        assert code != 0
        assert RARE.lower() in "".join(err).lower() or code == 2
    log = home.log.read_text()
    assert log.count("The command memory failed") == 5
    assert RARE.lower() not in log.lower()
