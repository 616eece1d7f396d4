"""`assistant encryption …` as a user types it."""

import io
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from assistant.compose import memory as building
from assistant.encryption import keys
from assistant.encryption.vault import NEW_PASSPHRASE_VARIABLE, PASSPHRASE_VARIABLE, open_vault
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.encoders import HashingEncoder
from ui.commands import main
from ui.commands.doctor import checks
from ui.commands.doctor.checks import CheckContext, CheckStatus

Run = Callable[..., tuple[int, str, str]]
RARE = "Zyzzyvax"


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))
    monkeypatch.setattr(keys, "ARGON2", {"iterations": 1, "lanes": 1, "memory_kib": 64})


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A command in this process: exit code, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def command(*words: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main.main(list(words))
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def test_the_recovery_key_is_shown_once_and_opens_what_was_lost(
    run: Run, home: Home, keyring: Path
) -> None:
    code, _, told = run("memory", "add", f"My ferret is called {RARE}.")
    assert code == 0
    recovery = "".join(line.strip() + "-" for line in told.splitlines() if line.startswith("    "))
    assert run("memory", "list")[2] == ""

    keyring.write_text("{}")
    code, out, told = run("memory", "list")
    assert (code, out) == (5, "")
    assert told.splitlines()[0] == (
        "The system's keyring has no key for this data; nothing was touched."
    )
    assert "assistant encryption recover" in told.splitlines()[1]

    code, out, told = run("encryption", "recover", typed=f"{recovery}\n")
    assert (code, out) == (0, "Recovered; from now on, the system's keyring unlocks your data.\n")
    assert RARE in run("memory", "list")[1]


def test_enable_status_change_and_disable(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "add", f"My ferret is called {RARE}.")
    assert run("encryption", "status")[1] == (
        "Your data is not encrypted.\n→ assistant encryption enable\n"
    )
    code, out, told = run("encryption", "enable")
    assert (code, out) == (5, "")
    assert PASSPHRASE_VARIABLE in told

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    code, out, _ = run("encryption", "enable", "--json")
    row, last = (json.loads(line) for line in out.splitlines())
    assert (code, row["event"], last) == (0, "recovery", {"event": "encrypted"})
    status = json.loads(run("encryption", "status", "--json")[1])
    assert (status["state"], status["by"], status["keyring"]) == ("encrypted", "passphrase", None)
    assert row["recovery_key"] not in home.key_file.read_text()
    assert RARE in run("memory", "list")[1]

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "wrong horse")
    code, out, told = run("memory", "list", "--json")
    assert code == 5
    assert json.loads(out)["message"] == told.splitlines()[0]
    assert told.startswith("The passphrase is not the right one")

    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    code, _, told = run("encryption", "change-passphrase")
    assert code == 5
    assert NEW_PASSPHRASE_VARIABLE in told
    monkeypatch.setenv(NEW_PASSPHRASE_VARIABLE, "a better horse")
    assert run("encryption", "change-passphrase")[0] == 0
    assert run("memory", "list")[0] == 5
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "a better horse")
    assert run("encryption", "disable")[0] == 0
    assert run("encryption", "disable")[0] == 2
    assert RARE in run("memory", "list")[1]


def test_words_of_a_command_that_fails_stay_out_of_the_log(run: Run, home: Home) -> None:
    for words in (
        ("memory", "show", f"{RARE}"),
        ("memory", "show", f"{RARE} is my ferret"),
        ("memory", "list", f"{RARE}"),
        ("memory", f"{RARE}"),
        ("memory", "edit", RARE, RARE),
    ):
        code, _, told = run(*words)
        assert code != 0
        assert RARE.lower() in told.lower() or code == 2

    log = home.log.read_text()
    assert log.count("The command memory ended") == 5
    assert RARE.lower() not in log.lower()


async def test_the_doctor_says_whether_it_is_encrypted(
    home: Home, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = await checks.check_encryption(CheckContext(home, Settings()))
    assert (new.verdict, new.mend) == (CheckStatus.GOOD, None)
    open_vault(home, Settings(), create=True).close()
    locked = await checks.check_encryption(CheckContext(home, Settings()))
    assert locked.text == "Your data is encrypted; the system's keyring unlocks it."
    home.key_file.write_text("{")
    damaged = await checks.check_encryption(CheckContext(home, Settings()))
    assert (damaged.verdict, damaged.mend) == (CheckStatus.BAD, "assistant encryption recover")
    home.key_file.unlink()
    with closing(open_vault(home, Settings())):
        home.transcript.write_bytes(b"SQLite format 3\0")
    plain = await checks.check_encryption(CheckContext(home, Settings()))
    assert (plain.verdict, plain.mend) == (CheckStatus.WARNING, "assistant encryption enable")
    off = Settings.model_validate({"encryption": {"mode": "off"}})
    assert (await checks.check_encryption(CheckContext(home, off))).verdict is CheckStatus.GOOD
