"""The assistant records a conversation, which is replayed, and forgotten."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.memory.forgetting.purge import purge
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.talking import Talk
from ui.commands import main

pytestmark = pytest.mark.real

PLAIN = {"ASSISTANT_ENCRYPTION__MODE": "off"}
DOG = "My dog is called Max and barks at every postman."


def test_a_recorded_exchange_is_replayed_until_it_is_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scripted: dict[str, str]
) -> None:
    home = Home(tmp_path / "home")
    with Talk(home.root, "--profile", "tiny", "--text", "--record", env=PLAIN | scripted) as talk:
        path = Path(talk.wait_for("recording")["path"])
        talk.say(DOG)
        talk.wait_for("turn")
        talk.say("/record")
        talk.wait_for("recording", path=None)
        talk.say("Nobody hears this.")
        talk.end_input()
        assert talk.finish() == 0
    assert path.parent == home.recordings

    assert main.main(["--home", str(home.root), "replay", path.stem]) == 0
    told = capsys.readouterr().out
    assert f"you: {DOG}" in told
    assert "Nobody" not in told

    with closing(Transcript.open(home.transcript)) as transcript:
        ids = transcript.exchange_ids("me")
        [dog] = [each.id for _, each in transcript.exchanges("me", ids) if each.user_text == DOG]
        purge(HiddenItems.of("me", [dog], (), datetime.now(UTC)), transcript, None)
    assert b"postman" not in path.read_bytes()
    assert main.main(["--home", str(home.root), "replay", path.stem]) == 0
    assert "Max" not in capsys.readouterr().out
