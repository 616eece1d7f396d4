"""The sources of settings, which source wins, and the error if a setting is wrong."""

from pathlib import Path

import pytest

from assistant.errors import SettingsError
from assistant.settings import Section, Settings, Turn, load


def test_without_sources_every_setting_has_its_default(tmp_path: Path) -> None:
    loaded = load(tmp_path / "absent.toml", environment={})

    assert loaded.settings == Settings()
    assert set(loaded.sources.values()) == {"default"}


def test_each_source_overrides_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[turn]\nstart_s = 1\nmax_turn_s = 1\nhint_s = 1\n", encoding="utf-8")
    environment = {"ASSISTANT_TURN__MAX_TURN_S": "2", "ASSISTANT_TURN__HINT_S": "2"}

    loaded = load(
        file, environment=environment, flags={"turn.hint_s": "3", "turn.max_turn_s": None}
    )

    turn = loaded.settings.turn
    assert (turn.start_s, turn.max_turn_s, turn.hint_s) == (1, 2, 3)
    assert loaded.sources["turn.start_s"] == str(file)
    assert loaded.sources["turn.max_turn_s"] == "ASSISTANT_TURN__MAX_TURN_S"
    assert loaded.sources["turn.hint_s"] == "flag"
    assert loaded.sources["turn.duck"] == "default"


def test_every_setting_has_a_source_and_nearly_all_a_description(tmp_path: Path) -> None:
    loaded = load(tmp_path / "absent.toml", environment={})
    fields = {
        f"{section}.{name}": field
        for section, values in Settings()
        if isinstance(values, Section)
        for name, field in type(values).model_fields.items()
    }

    assert loaded.sources.keys() == fields.keys()
    unexplained = {key for key, field in fields.items() if not field.description}
    assert unexplained == {"llm.temperature"}  # its name says everything


@pytest.mark.parametrize("text", ["true", "1", "yes", "on"])
def test_the_environment_accepts_the_usual_words_for_true(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path / "absent.toml", {"ASSISTANT_AUDIO__PUSH_TO_TALK": text})

    assert loaded.settings.audio.push_to_talk is True


def test_the_variables_for_folders_are_not_settings(tmp_path: Path) -> None:
    environment = {"ASSISTANT_HOME": "/nowhere", "ASSISTANT_MODELS_CACHE": "/nowhere"}

    assert load(tmp_path / "absent.toml", environment).settings == Settings()


@pytest.mark.parametrize(
    ("text", "said", "mend"),
    [
        (b"\xff\xfe\x00", "can't be read", None),
        (
            "[turn]\nmax_turn_s = -1\n",
            "`turn.max_turn_s` takes more than 0.0, not -1",
            "assistant config unset turn.max_turn_s",
        ),
        ("[turn]\nstops = 1\n", "no setting `turn.stops`", "assistant config unset turn.stops"),
        ("[trun]\nmax_turn_s = 1\n", "no setting `trun`", "Correct"),
        ("max_turn_s = 1\n", "outside of any [section]", None),
        ("[turn\n", "can't be read", None),
        (
            '[audio]\necho = "loud"\n',
            "`audio.echo` takes `cancel`, `half-duplex` or `off`, not 'loud'",
            "unset audio.echo",
        ),
    ],
)
def test_a_wrong_settings_file_is_named_with_the_error(
    tmp_path: Path, text: str | bytes, said: str, mend: str | None
) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(SettingsError) as caught:
        load(file, environment={})

    assert said in str(caught.value)
    assert str(file) in str(caught.value)
    if mend is not None:
        assert mend in (caught.value.mend or "")


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ASSISTANT_TTS__SPEED") as caught:
        load(tmp_path / "absent.toml", {"ASSISTANT_TTS__SPEED": "fast"})

    assert "ASSISTANT_TTS__SPEED" in (caught.value.mend or "")


@pytest.mark.parametrize(
    ("key", "value", "takes"),
    [
        ("general.profile", "huge", "takes `tiny`, `small` or `default`, not 'huge'"),
        ("turn.max_turn_s", "soon", "takes a number, not 'soon'"),
        ("turn.max_turn_s", "0", "takes more than 0.0, not '0'"),
        ("memory.hot_rows", "2.5", "takes a whole number, not '2.5'"),
        ("memory.hot_rows", 2.5, "takes a whole number, not 2.5"),
        ("memory.hot_rows", "-3", "takes 0 or more, not '-3'"),
        ("tts.speed", "9", "takes 2.0 or less, not '9'"),
        ("general.sounds", "perhaps", "takes true or false, not 'perhaps'"),
        ("persona.name", 3, "takes text, not 3"),
        ("screen.keys", "m", "takes a table, not 'm'"),
    ],
)
def test_a_wrong_value_is_refused_with_the_values_that_the_setting_takes(
    tmp_path: Path, key: str, value: object, takes: str
) -> None:
    with pytest.raises(SettingsError, match=f"The setting `{key}` {takes} .from flag.") as refused:
        load(tmp_path / "absent.toml", environment={}, flags={key: value})

    assert refused.value.mend == "assistant config"


SERVERS = """
[mcp.files]
command = "files-server"
args = ["--folder", "/tmp"]
env = { TOKEN = "s3cret" }
confirm = "always"

[mcp.web]
url = "http://localhost:8000/mcp"
"""


def test_each_tool_server_has_a_table_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SERVERS, encoding="utf-8")

    loaded = load(file, environment={})

    assert list(loaded.settings.mcp) == ["files", "web"]
    assert loaded.settings.mcp["files"].args == ("--folder", "/tmp")
    assert loaded.settings.mcp["web"].confirm == "changes"
    assert loaded.sources["mcp.files"] == str(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('url = "http://example.com/mcp"', "`mcp.some.url` takes an address of this machine"),
        ('url = "http://10.0.0.1/mcp"', "`mcp.some.url` takes an address of this machine"),
        ('url = "http://127.0.0.1.example.com/"', "takes an address of this machine"),
        ('url = "http://me@localhost/mcp"', "takes an address of this machine"),
        ('url = "file:///etc/passwd"', "takes an address of this machine"),
        ('command = "x"\nurl = "http://127.0.0.1/"', "`mcp.some` takes either a `command` or a"),
        ('args = ["x"]', "`mcp.some` takes either a `command` or a `url`"),
        ('comand = "x"', "no setting `mcp.some.comand`"),
        ('command = "x"\nconfirm = "maybe"', "`mcp.some.confirm` takes `changes`, `never` or"),
        ('command = "x"\ntimeout_s = 0', "`mcp.some.timeout_s` takes more than 0"),
    ],
)
def test_a_wrong_tool_server_is_named_with_the_error(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f'[mcp.some]\n{text}\nenv = {{ TOKEN = "s3cret" }}\n', encoding="utf-8")

    with pytest.raises(SettingsError) as error:
        load(file, environment={})

    assert said in str(error.value)
    assert "s3cret" not in str(error.value)
    assert error.value.mend == f"Correct {file}."


def test_settings_of_earlier_versions_have_no_effect_and_are_named(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[turn]\nstop_s = 0.5\npatience = 2.0\n", encoding="utf-8")
    loaded = load(file, environment={"ASSISTANT_TURN__INCOMPLETE_WAIT_S": "2"})
    assert loaded.settings.turn == Turn(patience=2.0)
    assert loaded.retired == {
        "turn.stop_s": str(file),
        "turn.incomplete_wait_s": "ASSISTANT_TURN__INCOMPLETE_WAIT_S",
    }
    with pytest.raises(SettingsError, match=r"no setting `turn\.stop_s`"):
        load(file, environment={}, flags={"turn.stop_s": "0.3"})
