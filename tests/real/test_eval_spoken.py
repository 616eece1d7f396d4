"""Commands are spoken by real voices, and transcribed by a real recogniser."""

import json
from pathlib import Path

import pytest

from models.download import ModelStore
from scripts import eval_commands
from scripts.eval import spoken_commands
from scripts.eval.voices import voices_here

pytestmark = pytest.mark.real


def test_losses_by_hearing_and_by_understanding_are_told_apart(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    voice = [each for each in voices_here(store) if each.speed == 1.0][:1]
    monkeypatch.setattr(spoken_commands, "voices_here", lambda _store: voice)
    monkeypatch.setattr(spoken_commands, "BABBLERS", 2)
    monkeypatch.setattr(spoken_commands, "SNRS_DB", (10,))
    assert eval_commands.main(["--sound", "--commands", "3", "--json"]) == 0
    *told, last = capsys.readouterr().out.splitlines()
    found = json.loads(last)
    assert "Worst heard:" in told
    assert (found["recogniser"], found["commands"]) == ("whisper-tiny.en", 3)
    assert len(found["conditions"]) == 3
    assert found["overall"]["spoken"] == 9
    overall = found["overall"]
    parts = (overall["from_sound"], overall["lost_hearing"], overall["lost_understanding"])
    assert sum(parts) == pytest.approx(1.0)
    quiet, *noisy = found["conditions"].values()
    assert quiet["wer"] < 40
    assert max(each["wer"] for each in noisy) >= quiet["wer"]
    assert eval_commands.main(["--sound", "--requests", "--commands", "1", "--json"]) == 0
    requests = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert requests["overall"]["spoken"] == 3
    assert not requests["kinds"].keys() & found["kinds"].keys()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--commands", "90000"), "commands can be spoken, not 90000."),
        (("--profile", "small"), "is not on this machine yet."),
    ],
)
def test_what_cannot_be_measured_is_reported_in_one_sentence(
    store: ModelStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    told: str,
) -> None:
    for name in ("piper-en-us-joe-medium", "all-minilm-l6-v2"):
        (tmp_path / name).symlink_to(store.location(name))
    monkeypatch.setenv("ASSISTANT_MODELS_CACHE", str(tmp_path))
    assert eval_commands.main(["--sound", *arguments]) > 0
    first, *rest = capsys.readouterr().err.splitlines()
    assert told in first
    assert len(rest) <= 1


def test_a_machine_without_voices_is_reported(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spoken_commands, "voices_here", lambda _store: [])
    assert eval_commands.main(["--sound"]) == 2
    assert capsys.readouterr().err.splitlines()[0] == "There is no voice on this machine."
