"""Tool servers in `assistant config`."""

from pathlib import Path

import pytest

from assistant.errors import SettingsError
from assistant.paths import Home
from assistant.settings import load
from ui.session.settings_file import MASK, rows, set_setting, tool_server_rows, unset_setting

SERVER = '[mcp.files]\ncommand = "files-server"\nenv = { TOKEN = "s3cret" }\n'


@pytest.fixture
def file(home: Home) -> Path:
    home.create().settings_file.write_text(SERVER, encoding="utf-8")
    return home.settings_file


def test_a_server_is_shown_without_the_values_of_its_environment(file: Path) -> None:
    loaded = load(file, environment={})

    [row] = tool_server_rows(loaded)
    assert row["key"] == "mcp.files"
    assert row["value"] == {"command": "files-server", "env": {"TOKEN": MASK}}
    assert row["source"] == str(file)
    assert "mcp" not in {each["key"].partition(".")[0] for each in rows(loaded)}


def test_a_server_is_not_set_up_by_single_settings_but_can_be_removed(
    home: Home, file: Path
) -> None:
    with pytest.raises(SettingsError, match=r"in a table `\[mcp.NAME\]`"):
        set_setting(home, "mcp.files.command", "other")
    assert file.read_text("utf-8") == SERVER

    unset_setting(home, "mcp.files")
    assert load(file, environment={}).settings.mcp == {}


def test_changing_another_setting_keeps_the_servers(home: Home, file: Path) -> None:
    set_setting(home, "turn.hint_s", "0.5")

    loaded = load(file, environment={})
    assert loaded.settings.turn.hint_s == 0.5
    assert loaded.settings.mcp["files"].env == {"TOKEN": "s3cret"}
