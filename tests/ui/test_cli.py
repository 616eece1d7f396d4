"""The `assistant` command: its grammar, its errors, its exit codes, and `assistant config`."""

import argparse
import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.encryption.vault import Vault
from assistant.errors import DeviceMissing, ModelMissing, StoreError
from assistant.paths import Home
from assistant.settings import Settings, load
from ui.commands import main
from ui.process import console

Talk = Callable[..., int]


class Conversation:
    """Stands in for `ui.commands.talk`, and keeps what it was called with."""

    def __init__(self, does: Talk | None = None) -> None:
        self.does = does
        self.args = argparse.Namespace()
        self.settings = Settings()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--input", action="append", default=[], type=Path)
        parser.add_argument("--text", action="store_true")

    def run(
        self, args: argparse.Namespace, home: Home, settings: Settings, out: object, vault: Vault
    ) -> int:
        vault.close()
        self.args, self.settings = args, settings
        return self.does(home, out) if self.does else 0


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Conversation]:
    def install(does: Talk | None = None) -> Conversation:
        conversation = Conversation(does)
        module = types.ModuleType("ui.commands.talk")
        module.__dict__.update(add_arguments=conversation.add_arguments, run=conversation.run)
        monkeypatch.setitem(sys.modules, "ui.commands.talk", module)
        return conversation

    return install


def raising(error: BaseException) -> Talk:
    def does(*_: object) -> int:
        raise error

    return does


def command(*words: str, home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run it as a user does."""
    environment = {**os.environ, "ASSISTANT_HOME": str(home), **more}
    return subprocess.run(
        [sys.executable, "-m", "ui.commands.main", *words],
        cwd=Path(__file__).resolve().parents[2],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--profile", "tiny", "--json", "talk", "--input", "a.wav"],
        ["talk", "--input", "a.wav", "--profile", "tiny", "--json"],
        ["talk", "--profile=tiny", "--input", "a.wav", "--json"],
        ["--input", "a.wav", "--profile", "tiny", "--json"],
        ["--json", "--input", "a.wav", "--set", "general.profile=tiny"],
    ],
)
def test_global_flags_stand_anywhere_and_talk_may_be_left_out(
    talk: Callable[..., Conversation], words: list[str]
) -> None:
    conversation = talk()

    assert main.main(words) == 0
    assert conversation.args.json is True
    assert conversation.args.input == [Path("a.wav")]
    assert conversation.settings.general.profile == "tiny"


def test_flags_of_talk_are_settings(talk: Callable[..., Conversation]) -> None:
    conversation = talk()

    line = (
        "talk --voice v.onnx --speed 1.5 --microphone usb --loudspeaker 3 --llm m.gguf "
        "--language de --user kim --set turn.stop_s=0.4"
    )

    code = main.main(line.split())

    told = conversation.settings
    assert code == 0
    assert (told.tts.model, told.tts.speed, told.persona.language) == ("v.onnx", 1.5, "de")
    assert (told.audio.input_device, told.audio.output_device) == ("usb", "3")
    assert (told.llm.model, told.general.user, told.turn.stop_s) == ("m.gguf", "kim", 0.4)


def test_home_is_where_the_flag_says(talk: Callable[..., Conversation], tmp_path: Path) -> None:
    homes: list[Home] = []

    def remember(home: Home, _: object) -> int:
        homes.append(home)
        return 0

    talk(remember)

    assert main.main(["--home", str(tmp_path / "mine")]) == 0
    assert homes == [Home(tmp_path / "mine")]
    assert (tmp_path / "mine").is_dir()


def test_an_error_is_one_sentence_its_mend_and_its_code(
    talk: Callable[..., Conversation], capfd: pytest.CaptureFixture[str]
) -> None:
    talk(raising(ModelMissing("The model X is not here.", mend="assistant models pull X")))

    assert main.main(["talk"]) == ModelMissing.exit_code
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err == "The model X is not here.\n→ assistant models pull X\n"


@pytest.mark.parametrize(
    ("mend", "typed"),
    [
        ("assistant models pull X", "'./my clone/run' models pull X"),
        ("Then: assistant doctor", "Then: './my clone/run' doctor"),
        ("assistant --profile small", "'./my clone/run' --profile small"),
        ("Ask the assistant again.", "Ask the assistant again."),
    ],
)
def test_commands_can_be_typed_as_they_are_shown(
    monkeypatch: pytest.MonkeyPatch, mend: str, typed: str
) -> None:
    assert console.runnable_hint(mend) == mend
    monkeypatch.setenv("ASSISTANT_COMMAND", "./my clone/run")
    assert console.runnable_hint(mend) == typed


def test_with_json_an_error_is_an_object_too(
    talk: Callable[..., Conversation], capfd: pytest.CaptureFixture[str]
) -> None:
    talk(raising(DeviceMissing("There is no microphone.")))

    assert main.main(["--json"]) == DeviceMissing.exit_code
    told = capfd.readouterr()
    assert json.loads(told.out) == {
        "event": "error",
        "message": "There is no microphone.",
        "mend": None,
    }
    assert told.err == "There is no microphone.\n"


def test_the_unforeseen_is_one_sentence_and_a_traceback_in_the_log(
    talk: Callable[..., Conversation], home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    talk(raising(RuntimeError("the moon fell")))

    assert main.main(["talk"]) == 70
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert str(home.log) in told.err
    log = home.log.read_text("utf-8")
    assert "RuntimeError: the moon fell" in log
    assert "in raising" not in log
    assert "test_cli.py" in log


def test_the_unforeseen_is_told_where_no_log_can_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ui.commands.config.load", raising(RuntimeError("the moon fell")))
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    assert main.main(["config", "--home", str(in_the_way)]) == 70
    assert capfd.readouterr().err.count("\n") == 1


def test_ctrl_c_ends_quietly(
    talk: Callable[..., Conversation], capfd: pytest.CaptureFixture[str]
) -> None:
    talk(raising(KeyboardInterrupt()))

    assert main.main([]) == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words", [["fly"], ["talk", "--fly"], ["config", "set"], ["--set", "nonsense"], ["--home"]]
)
def test_wrong_usage_is_one_sentence_and_exits_with_2(
    talk: Callable[..., Conversation], capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    talk()

    assert main.main(words) == 2
    sentence, mend = capfd.readouterr().err.splitlines()
    assert sentence.endswith(".")
    assert mend.startswith("→ assistant")


def test_help_lists_the_commands_and_loads_nothing_heavy(tmp_path: Path) -> None:
    done = command("--help", home=tmp_path)

    assert done.returncode == 0
    assert all(name in done.stdout for name in main.COMMANDS)
    assert not (tmp_path / "logs").exists()


def test_what_is_drawn_first_waits_for_nothing_heavy() -> None:
    heavy = {"pipecat", "lancedb", "numpy", "cryptography", "sounddevice", "sqlite3"}
    program = (
        "import sys, ui.commands.main, ui.commands.screen, ui.screen.app, ui.session.session;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    writing = subprocess.Popen(
        [sys.executable, "-m", "ui.commands.main", "config", "--json"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "ASSISTANT_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writing.stdout is not None
    writing.stdout.close()
    _, told = writing.communicate()

    assert writing.returncode == 128 + signal.SIGPIPE
    assert told == b""


def test_closed_standard_streams_are_no_error(tmp_path: Path) -> None:
    line = f'exec "{sys.executable}" -m ui.commands.main config set turn.stop_s 0.5 <&- >&- 2>&-'
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "ASSISTANT_HOME": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 0
    assert (tmp_path / "settings.toml").read_text() == "[turn]\nstop_s = 0.5\n"


def test_config_shows_every_setting_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[tts]\nspeed = 1.25\n")

    done = command("config", "--json", home=tmp_path, ASSISTANT_PERSONA__NAME="Bo")

    rows = {row["key"]: row for row in json.loads(done.stdout)["settings"]}
    assert rows.keys() == load(tmp_path / "none", {}).sources.keys()
    assert rows["tts.speed"]["value"] == 1.25
    assert rows["tts.speed"]["default"] == 1.0
    assert rows["tts.speed"]["source"] == str(tmp_path / "settings.toml")
    assert rows["persona.name"]["source"] == "ASSISTANT_PERSONA__NAME"
    assert "voice's own pace" in rows["tts.speed"]["meaning"]


def test_config_to_read_says_the_same(tmp_path: Path) -> None:
    done = command("config", "--set", "tts.speed=1.5", home=tmp_path)

    assert "speed = 1.5    ← flag" in done.stdout
    assert "[persona]" in done.stdout
    assert "Which models to use" in done.stdout


def test_config_never_shows_a_key(tmp_path: Path) -> None:
    for words in (
        ["config", "set", "llm.api_key", "hush-hush"],
        ["config"],
        ["config", "--json"],
    ):
        done = command(*words, home=tmp_path)
        assert done.returncode == 0
        assert "hush-hush" not in done.stdout + done.stderr
    file = tmp_path / "settings.toml"
    assert load(file, {}).settings.llm.api_key == "hush-hush"
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("key", "text", "written"),
    [
        ("turn.stop_s", "0.25", "stop_s = 0.25"),
        ("persona.name", "42", 'name = "42"'),
        ("persona.instructions", 'Say "hi".\nBe brief.', "instructions ="),
        ("audio.push_to_talk", "yes", "push_to_talk = true"),
        ("llm.threads", "3", "threads = 3"),
    ],
)
def test_config_set_writes_the_right_type_and_keeps_the_rest(
    home: Home, key: str, text: str, written: str
) -> None:
    home.settings_file.write_text("# mine\n[general]  # who\nuser = 'kim'\n")

    assert main.main(["config", "set", key, text]) == 0

    content = home.settings_file.read_text("utf-8")
    assert content.startswith("# mine\n[general]  # who\nuser = 'kim'\n")
    assert written in content
    section, _, name = key.partition(".")
    value = getattr(getattr(load(home.settings_file, {}).settings, section), name)
    assert value == (type(value)(text) if not isinstance(value, bool) else True)


def test_config_refuses_what_does_not_fit_and_leaves_the_file(home: Home) -> None:
    assert main.main(["config", "set", "turn.stop_s", "-1"]) == 2
    assert main.main(["config", "set", "turn.stops", "1"]) == 2
    assert not home.settings_file.exists()


def test_config_unset_mends_a_file_with_an_unknown_setting(home: Home) -> None:
    home.settings_file.write_text("[turn]\nstops = 1\nstop_s = 0.3\n")
    assert main.main(["config"]) == 2

    assert main.main(["config", "unset", "turn.stops"]) == 0
    assert main.main(["config"]) == 0
    assert main.main(["config", "unset", "turn.stops"]) == 2
    assert home.settings_file.read_text() == "[turn]\nstop_s = 0.3\n"


def test_config_path_says_where_the_file_is(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["config", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(home.settings_file)


def test_a_home_that_is_a_file_is_one_sentence(
    talk: Callable[..., Conversation], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    talk()
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    assert main.main(["--home", str(in_the_way)]) == StoreError.exit_code
    assert "--home DIR" in capfd.readouterr().err
