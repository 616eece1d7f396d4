"""The `assistant` command: its grammar, its errors, its exit codes, and `assistant config`."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assistant.errors import ModelMissing, StoreError
from assistant.paths import Home
from assistant.settings import Settings, load
from tests.support.command_line import MAIN, ROOT, Run, in_own_process
from ui.commands import ReadSettings, main, session_options
from ui.process import console


class Conversation(ModuleType):
    """Stands in for `ui.commands.talk`, and records the arguments of its call."""

    def __init__(self) -> None:
        super().__init__("ui.commands.talk")
        self.fails: BaseException | None = None
        self.args = argparse.Namespace()
        self.home = Home(Path())
        self.settings = Settings()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        session_options.add_files(parser)
        session_options.add_settings(parser)

    def run(self, args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
        self.args, self.home, self.settings = args, home, settings().settings
        if self.fails is not None:
            raise self.fails
        return 0


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Conversation:
    conversation = Conversation()
    monkeypatch.setitem(sys.modules, "ui.commands.talk", conversation)
    return conversation


@pytest.mark.parametrize(
    "line",
    [
        "--profile tiny --json talk --input a.wav",
        "talk --input a.wav --profile tiny --json",
        "talk --profile=tiny --input a.wav --json",
        "--input a.wav --profile tiny --json",
        "--json --input a.wav --set general.profile=tiny",
    ],
)
def test_global_flags_may_be_anywhere_and_talk_may_be_omitted(
    run: Run, talk: Conversation, line: str
) -> None:
    assert run(*line.split())[0] == 0
    assert talk.args.json is True
    assert talk.args.input == [Path("a.wav")]
    assert talk.settings.general.profile == "tiny"


def test_flags_of_talk_set_settings(run: Run, talk: Conversation) -> None:
    line = (
        "talk --voice v.onnx --speed 1.5 --microphone usb --loudspeaker 3 --llm m.gguf "
        "--language de --user kim --set turn.hint_s=0.4"
    )
    assert run(*line.split())[0] == 0
    found = talk.settings
    assert (found.tts.model, found.tts.speed, found.persona.language) == ("v.onnx", 1.5, "de")
    assert (found.audio.input_device, found.audio.output_device) == ("usb", "3")
    assert (found.llm.model, found.general.user, found.turn.hint_s) == ("m.gguf", "kim", 0.4)


def test_the_home_flag_says_where_the_home_is(run: Run, talk: Conversation, tmp_path: Path) -> None:
    assert run("--home", str(tmp_path / "mine"))[0] == 0
    assert talk.home == Home(tmp_path / "mine")
    assert (tmp_path / "mine").is_dir()
    (tmp_path / "file").write_text("")
    code, _, err = run("--home", str(tmp_path / "file"))
    assert (code, "--home DIR" in "".join(err)) == (StoreError.exit_code, True)


def test_an_error_has_one_sentence_advice_and_a_code_and_is_an_object_with_json(
    run: Run, talk: Conversation
) -> None:
    talk.fails = ModelMissing("The model X is not here.", mend="assistant models pull X")
    shown = ["The model X is not here.", "→ assistant models pull X"]
    assert run("talk") == (ModelMissing.exit_code, [], shown)
    code, out, err = run("--json")
    assert (code, err) == (ModelMissing.exit_code, shown)
    assert json.loads(out[0]) == {
        "event": "error",
        "message": "The model X is not here.",
        "mend": "assistant models pull X",
    }


@pytest.mark.parametrize(
    ("mend", "typed"),
    [
        ("assistant models pull X", "'./my clone/run' models pull X"),
        ("Then: assistant doctor", "Then: './my clone/run' doctor"),
        ("assistant --profile small", "'./my clone/run' --profile small"),
        ("Ask the assistant again.", "Ask the assistant again."),
    ],
)
def test_suggested_commands_can_be_typed_as_shown(
    monkeypatch: pytest.MonkeyPatch, mend: str, typed: str
) -> None:
    assert console.runnable_hint(mend) == mend
    monkeypatch.setenv("ASSISTANT_COMMAND", "./my clone/run")
    assert console.runnable_hint(mend) == typed


def test_an_unexpected_error_shows_one_sentence_and_logs_a_traceback(
    run: Run, talk: Conversation, home: Home
) -> None:
    talk.fails = RuntimeError("the moon fell")
    code, out, [sentence] = run("talk")
    assert (code, out) == (70, [])
    assert str(home.log) in sentence
    log = home.log.read_text("utf-8")
    assert "RuntimeError: the moon fell" in log
    assert "test_command_line.py" in log


def test_an_unexpected_error_is_reported_even_if_no_log_can_be_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ui.commands.config.print_result", lambda *_, **__: 1 / 0)
    (tmp_path / "file").write_text("")
    code, _, err = run("config", "path", "--home", str(tmp_path / "file"))
    assert (code, len(err)) == (70, 1)


def test_ctrl_c_ends_quietly(run: Run, talk: Conversation) -> None:
    talk.fails = KeyboardInterrupt()
    assert run() == (130, [], [])


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize(
    "line", ["fly", "talk --fly", "config set", "models", "--set nonsense", "--home"]
)
def test_wrong_usage_is_reported_in_one_sentence_and_exits_with_2(run: Run, line: str) -> None:
    code, _, [sentence, mend] = run(*line.split())
    assert code == 2
    assert sentence.endswith(".")
    assert mend.startswith("→ assistant")


def test_help_lists_the_commands_and_writes_no_logs(tmp_path: Path) -> None:
    done = in_own_process("--help", home=tmp_path)
    assert done.returncode == 0
    assert all(name in done.stdout for name in main.COMMANDS)
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("command", "action"), [("memory", "never-recall"), ("idle", "retry"), ("encryption", "enable")]
)
def test_a_command_without_an_action_shows_its_help(run: Run, command: str, action: str) -> None:
    code, out, err = run(command)
    assert (code, err) == (0, [])
    assert any(action in line for line in out)


def test_drawing_the_first_screen_imports_nothing_heavy() -> None:
    heavy = {"pipecat", "lancedb", "numpy", "cryptography", "sounddevice", "sqlite3"}
    program = (
        "import sys, ui.commands.main, ui.commands.screen, ui.screen.app, ui.session.session;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_reader_that_closes_the_pipe_causes_no_error_output(tmp_path: Path) -> None:
    writing = subprocess.Popen(
        [*MAIN, "config", "--json"],
        cwd=ROOT,
        env={**os.environ, "ASSISTANT_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writing.stdout is not None
    writing.stdout.close()
    _, errors = writing.communicate()
    assert (writing.returncode, errors) == (128 + signal.SIGPIPE, b"")


def test_closed_standard_streams_cause_no_error(tmp_path: Path) -> None:
    line = f'exec "{sys.executable}" -m ui.commands.main config set turn.hint_s 0.5 <&- >&- 2>&-'
    environment = {**os.environ, "ASSISTANT_HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0
    assert (tmp_path / "settings.toml").read_text() == "[turn]\nhint_s = 0.5\n"


# -- config -------------------------------------------------------------------------------------


def test_config_shows_every_setting_and_its_source(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.settings_file.write_text("[tts]\nspeed = 1.25\n")
    monkeypatch.setenv("ASSISTANT_PERSONA__NAME", "Bo")
    rows = {row["key"]: row for row in json.loads(run("config", "--json")[1][0])["settings"]}
    assert rows.keys() == load(home.root / "none", {}).sources.keys()
    speed = rows["tts.speed"]
    assert (speed["value"], speed["default"]) == (1.25, 1.0)
    assert speed["source"] == str(home.settings_file)
    assert "voice's own pace" in speed["meaning"]
    assert rows["persona.name"]["source"] == "ASSISTANT_PERSONA__NAME"
    lines = run("config", "--set", "tts.speed=1.5")[1]
    assert {"speed = 1.5    ← flag", "[persona]"} <= set(lines)
    assert any("Which models to use" in line for line in lines)
    assert run("config", "path")[1] == [str(home.settings_file)]


def test_config_never_shows_a_key(run: Run, home: Home) -> None:
    for words in (["set", "llm.api_key", "hush-hush"], [], ["--json"]):
        code, out, err = run("config", *words)
        assert code == 0
        assert "hush-hush" not in "".join([*out, *err])
    assert load(home.settings_file, {}).settings.llm.api_key == "hush-hush"
    assert home.settings_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("key", "text", "written", "value"),
    [
        ("turn.hint_s", "0.25", "hint_s = 0.25", 0.25),
        ("persona.name", "42", 'name = "42"', "42"),
        ("persona.instructions", 'Say "hi".\nBe brief.', "instructions =", 'Say "hi".\nBe brief.'),
        ("audio.push_to_talk", "yes", "push_to_talk = true", True),
        ("llm.threads", "3", "threads = 3", 3),
    ],
)
def test_config_set_writes_the_right_type_and_keeps_the_rest(
    run: Run, home: Home, key: str, text: str, written: str, value: object
) -> None:
    home.settings_file.write_text("# mine\n[general]  # who\nuser = 'kim'\n")
    assert run("config", "set", key, text)[0] == 0
    content = home.settings_file.read_text("utf-8")
    assert content.startswith("# mine\n[general]  # who\nuser = 'kim'\n")
    assert written in content
    section, _, name = key.partition(".")
    assert getattr(getattr(load(home.settings_file, {}).settings, section), name) == value


def test_config_refuses_invalid_settings_and_leaves_the_file_unchanged(
    run: Run, home: Home
) -> None:
    assert run("config", "set", "turn.hint_s", "-1")[0] == 2
    assert run("config", "set", "turn.stops", "1")[0] == 2
    assert not home.settings_file.exists()


def test_config_names_settings_of_earlier_versions_and_does_not_write_them(
    run: Run, home: Home
) -> None:
    home.settings_file.write_text("[turn]\nstop_s = 0.3\n")
    code, lines, _ = run("config")
    told = f"# turn.stop_s (from {home.settings_file}) no longer has any effect; remove it."
    assert (code, told in lines) == (0, True)
    assert json.loads(run("config", "--json")[1][0])["retired"].keys() == {"turn.stop_s"}
    code, _, errors = run("config", "set", "turn.stop_s", "0.5")
    assert code == 2
    assert "no setting `turn.stop_s`" in " ".join(errors)
    assert run("config", "unset", "turn.stop_s")[0] == 0
    assert home.settings_file.read_text() == ""


def test_config_unset_repairs_a_file_with_an_unknown_setting(run: Run, home: Home) -> None:
    home.settings_file.write_text("[turn]\nstops = 1\nhint_s = 0.3\n")
    codes = [run("config", *words)[0] for words in ((), ("unset", "turn.stops"), ())]
    assert codes == [2, 0, 0]
    assert run("config", "unset", "turn.stops")[0] == 2
    assert home.settings_file.read_text() == "[turn]\nhint_s = 0.3\n"
